"""What became of the files of an import."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from jobs.harnesses.run_builder import LoggedVerdict, build_run
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, FULL_RUN_MIN_VALID, MISSING, Bank, RunKind, RunLog
from storage.calibrations.subsets import find_subset
from storage.file.history import History
from storage.runs.write_runs import NOT_RUN

PARTIAL: Final = "partial"
PART: Final = "part"
REFUSED: Final = "refused"
SKIPPED: Final = "skipped"
KNOWN: Final = "already there"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What became of one file.

    Attributes
    ----------
    path : str
    status : str
        ``imported``, ``partial`` (imported, but the log does not hold all that was asked),
        ``replaced``, ``extended``, ``already there``, ``part`` (of a log reported under another
        path), ``refused`` or ``skipped``.
    runs, verdicts : int
        What the log holds; 0 if refused, skipped or a part.
    reason : str or None
        Why it was refused or skipped or is partial.
    notes : tuple of str
    """

    path: str
    status: str
    runs: int = 0
    verdicts: int = 0
    reason: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did: one report per file, and what the history gained."""

    files: tuple[FileReport, ...]
    runs_added: int
    verdicts_added: int
    dry_run: bool

    @property
    def n_refused(self) -> int:
        """Number of refused files."""
        return sum(file.status == REFUSED for file in self.files)

    def text(self) -> list[str]:
        """Lines for people; the refusals themselves are reported as errors."""
        statuses = [file.status for file in self.files]
        n_read = sum(status not in (REFUSED, SKIPPED, PART) for status in statuses)
        lines = [
            f"{'Would add' if self.dry_run else 'Added'} {_count(self.runs_added, 'run')} and "
            f"{_count(self.verdicts_added, 'verdict')} from {_count(n_read, 'file')}."
        ]
        for status, what in (
            (PARTIAL, "held a part of what was asked"),
            (KNOWN, "held nothing new"),
            (SKIPPED, "in the folders skipped: no logs"),
            (REFUSED, "refused; nothing of it is stored"),
        ):
            if status in statuses:
                lines.append(f"{_count(statuses.count(status), 'file')} {what}.")
        return lines


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def refused_report(path: Path, reason: str, *, skipped: bool = False) -> FileReport:
    """Report a log of which nothing is stored."""
    return FileReport(path=str(path), status=SKIPPED if skipped else REFUSED, reason=reason)


def part_report(path: Path, whole: Path) -> FileReport:
    """Report a file that was read as part of a log."""
    return FileReport(path=str(path), status=PART, reason=f"read with {whole}")


_COUNTED: Final = re.compile(r"(?P<what>.*): (?P<count>\d+)")


def merged_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """Keep each note once, and add up those that end with a count."""
    counts: dict[str, int | None] = {}
    for note in notes:
        counted = _COUNTED.fullmatch(note)
        if counted is None:
            counts[note] = None
        else:
            what = counted["what"]
            counts[what] = (counts.get(what) or 0) + int(counted["count"])
    return tuple(what if count is None else f"{what}: {count}" for what, count in counts.items())


_SHOWN: Final = 5


def with_failed_others(log: RunLog, bank: Bank) -> RunLog:
    """Add a fail for each question of the bank that the log does not mention.

    Raises
    ------
    InputError
        If the bank holds nothing else, so that it cannot be known what failed.
    """
    others = sorted(set(bank.question_ids) - set(log.question_ids))
    if not others:
        raise InputError(
            "names only what was resolved, and the benchmark has no other questions; import a run "
            "that lists every question first"
        )
    failed = build_run(
        (LoggedVerdict(question=question, outcome=FAIL) for question in others),
        run_key=log.run_key,
        task=log.benchmark,
        agent=log.agent,
        harness=log.harness,
        started_at=log.started_at,
        subset_id=log.subset_id,
    )
    return log.joined(failed)


def selection_notes(history: History, log: RunLog, bank: Bank) -> list[str]:
    """Compare what came back with what was asked.

    Raises
    ------
    InputError
        If the run's subset is unknown or belongs to another benchmark.
    """
    if log.subset_id is None:
        n_valid = len(np.unique(log.question_index[log.outcome != MISSING]))
        if log.kind is not RunKind.FULL or n_valid >= FULL_RUN_MIN_VALID * len(bank.question_ids):
            return []
        return [
            f"run {log.run_key!r} has valid verdicts on {n_valid} of {len(bank.question_ids)} "
            "questions, too few for a full run; if a subset was asked, name it with --subset"
        ]
    found = find_subset(history, log.subset_id)
    if found.benchmark != log.benchmark:
        raise InputError(
            f"subset {log.subset_id!r} belongs to benchmark {found.benchmark!r}, "
            f"but run {log.run_key!r} to {log.benchmark!r}"
        )
    asked = set(found.subset.question_ids)
    not_run = log.reasons.index(NOT_RUN) if NOT_RUN in log.reasons else len(log.reasons)
    was_run = np.unique(log.question_index[log.reason_index != not_run])
    answered = {log.question_ids[position] for position in was_run}
    notes = []
    for ids, what in ((answered - asked, "outside"), (asked - answered, "not returned of")):
        if ids:
            notes.append(
                f"run {log.run_key!r}: {len(ids)} questions {what} subset {log.subset_id}: "
                + ", ".join(sorted(ids)[:_SHOWN])
                + (", ..." if len(ids) > _SHOWN else "")
            )
    return notes
