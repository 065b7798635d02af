"""What a run was asked, and the calibration and subsets that were in use at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from jobs.app.targets import Target
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.records import Run, RunLog
from storage.calibrations.calibrations import (
    CalibrationInfo,
    calibration_by_id,
    latest_calibration,
    list_calibrations,
)
from storage.calibrations.subsets import SubsetRecord, find_subset, list_subsets
from storage.file.history import History
from storage.runs.benchmarks import bank_by_version
from storage.sessions import session_by_id


@dataclass(frozen=True, slots=True, kw_only=True)
class StepByStep:
    """Questions that were chosen one after the other.

    Attributes
    ----------
    question_ids : frozenset of str
        Asked, with or without a valid verdict.
    k : int
        Valid verdicts that were wanted, as far as is known.
    chosen_by : str
        Method; empty where it is not known.
    calibration_id : int or None
        Under which they were chosen, where it is known.
    """

    question_ids: frozenset[str]
    k: int
    chosen_by: str = ""
    calibration_id: int | None = None


Asked = SubsetRecord | StepByStep | None
"""None for the whole bank."""


def find_asked(
    history: History,
    run: Run | RunLog,
    benchmark: str,
    *,
    subset_id: str | None,
    own_questions: Callable[[], Sequence[str]],
) -> Asked:
    """Find what a run of a benchmark was asked.

    Parameters
    ----------
    history : History
    run : Run or RunLog
    benchmark : str
    subset_id : str or None
        Goes before the session of the run.
    own_questions : callable
        Gives the questions that the run has verdicts on, missing ones included; called
        for a session that the history does not have or that has no steps.

    Raises
    ------
    InputError
        If the subset is unknown, or it or the session belongs to another benchmark.
    """
    run_key, session_id = run.run_key, run.session_id
    if subset_id is not None:
        record = find_subset(history, subset_id)
        _require_benchmark(f"subset {subset_id!r}", record.benchmark, run_key, benchmark)
        return record
    if session_id is None:
        return None
    try:
        session = session_by_id(history, session_id)
    except InputError:
        questions = frozenset(own_questions())
        return StepByStep(question_ids=questions, k=len(questions))
    _require_benchmark(f"session {session_id!r}", session.benchmark, run_key, benchmark)
    asked = frozenset(step.question_id for step in session.steps) or frozenset(own_questions())
    return StepByStep(
        question_ids=asked,
        k=session.k,
        chosen_by=session.method,
        calibration_id=session.calibration_id,
    )


def calibration_under_which(
    history: History, benchmark: str, family: str, at: datetime, asked: Asked
) -> CalibrationInfo:
    """Find the calibration under which a run that started at a time was asked.

    For a subset it is the one in use when the run started; where that one is missing or lacks a
    question of the subset, the one that chose the subset: the start of a run is often known to
    the day only, and may then seem to lie before the subset it was asked for.

    Raises
    ------
    NotEnoughDataError
        If there is none.
    """
    if isinstance(asked, StepByStep) and asked.calibration_id is not None:
        return calibration_by_id(history, asked.calibration_id)
    if isinstance(asked, SubsetRecord) and asked.calibration_id is not None:
        info = latest_calibration(history, benchmark, family, data_before=at)
        if info is None or not _questions(history, info) >= set(asked.subset.question_ids):
            return calibration_by_id(history, asked.calibration_id)
    return calibration_in_use(history, benchmark, family, at)


def calibration_in_use(
    history: History, benchmark: str, family: str, at: datetime | None = None
) -> CalibrationInfo:
    """Find the latest calibration whose data end before a time, or the latest of all.

    Raises
    ------
    NotEnoughDataError
        If there is none.
    """
    info = latest_calibration(history, benchmark, family, data_before=at)
    if info is not None:
        return info
    when = "" if at is None else f" with data that end before {at:%Y-%m-%d %H:%M} UTC"
    earlier = "" if at is None else " with --as-of a date before that"
    raise NotEnoughDataError(
        f"benchmark {benchmark!r}, family {family!r} has no calibration{when}; "
        f"run `recurring-eval recalibrate`{earlier}"
    )


def _questions(history: History, info: CalibrationInfo) -> set[str]:
    return set(bank_by_version(history, info.benchmark, info.bank_version).question_ids)


def _require_benchmark(what: str, its_own: str, run_key: str, benchmark: str) -> None:
    if its_own != benchmark:
        raise InputError(
            f"{what} belongs to benchmark {its_own!r}, but run {run_key!r} to {benchmark!r}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetVersions:
    """Every version of the subsets of one benchmark and family.

    Attributes
    ----------
    versions : tuple of (datetime, SubsetRecord)
        Newest run that the version was chosen from, and the version; oldest data first, of
        equal data in order of publication.
    """

    versions: tuple[tuple[datetime, SubsetRecord], ...]

    @classmethod
    def load(cls, history: History, target: Target) -> Self:
        """Read them with the end of the data that chose them; others are left out."""
        infos = list_calibrations(history, *target.key, superseded=True)
        data_end = {info.calibration_id: info.data_end for info in infos}
        known = [
            (data_end[record.calibration_id], record)
            for record in list_subsets(history, *target.key)
            if record.calibration_id in data_end
        ]
        return cls(versions=tuple(sorted(known, key=lambda version: version[0])))

    def in_use(self, at: datetime) -> list[SubsetRecord]:
        """Last version of each design and size whose data end before a time."""
        latest = {(r.subset.design, r.subset.k): r for end, r in self.versions if end < at}
        return [latest[key] for key in sorted(latest)]

    def overtaken(self, at: datetime) -> list[SubsetRecord]:
        """Active versions whose data reach to a time or beyond."""
        return [record for end, record in self.versions if record.active and end >= at]
