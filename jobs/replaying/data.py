"""The runs a replay works on: a plain matrix file, or the stored history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jobs.app.app import App
from jobs.app.targets import Target, one_benchmark, one_target
from jobs.replaying.matrix_file import read_wide_matrix
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.records import FULL_RUN_MIN_VALID, Run, RunKind
from recurring_eval.response_matrix import ResponseMatrix
from storage.runs.runs import list_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayData:
    """Full runs with enough valid verdicts.

    Attributes
    ----------
    label : str
        What they are, for titles.
    matrix : ResponseMatrix
        Runs in time order, or in file order without times; questions by id.
    families : tuple of str
        Agent family of each run.
    timed : bool
        Whether the starts of the runs are known.
    notes : tuple of str
    """

    label: str
    matrix: ResponseMatrix
    families: tuple[str, ...]
    timed: bool
    notes: tuple[str, ...]

    @property
    def n_agents(self) -> int:
        """Number of distinct agents."""
        return len(set(self.matrix.agents))


def data_of_file(path: Path, *, family: str | None = None) -> ReplayData:
    """Read a plain matrix.

    Parameters
    ----------
    path : Path
    family : str, optional
        Keep only the runs of this agent family.

    Raises
    ------
    InputError, NotEnoughDataError
    """
    read = read_wide_matrix(path)
    data = ReplayData(
        label=path.name,
        matrix=read.matrix,
        families=read.families,
        timed=read.timed,
        notes=read.notes,
    )
    return _enough_verdicts(_of_family(data, family))


def data_of_history(
    app: App, *, benchmark: str | None, family: str | None, all_families: bool = False
) -> ReplayData:
    """Load the full runs of a benchmark and one agent family, or all its families.

    Raises
    ------
    InputError
        If it is not clear which benchmark or family is meant.
    NotEnoughDataError
        Without a usable full run.
    """
    with app.open_history(read_only=True) as history:
        if all_families:
            target = Target(benchmark=one_benchmark(history, benchmark), family="")
        else:
            target = one_target(history, benchmark=benchmark, family=family)
        runs: Sequence[Run] = list_runs(
            history,
            target.benchmark,
            family=None if all_families else target.family,
            kinds=[RunKind.FULL],
        )
        view = app.view(target.benchmark)
        bank = view.bank(history)
        if bank is None or not runs:
            raise NotEnoughDataError(
                f"benchmark {target.benchmark!r} has no full run yet; import some"
            )
        matrix = view.matrix(history, runs, bank.question_ids)
    return _enough_verdicts(
        ReplayData(
            label=target.benchmark if all_families else str(target),
            matrix=matrix,
            families=tuple(run.agent_family for run in runs),
            timed=True,
            notes=(),
        )
    )


def _of_family(data: ReplayData, family: str | None) -> ReplayData:
    if family is None:
        return data
    rows = np.array([name == family for name in data.families], dtype=np.bool_)
    if not rows.any():
        known = ", ".join(sorted(set(data.families)))
        raise InputError(f"no runs of agent family {family!r}; known families: {known}")
    return _select(data, rows, data.notes)


def _enough_verdicts(data: ReplayData) -> ReplayData:
    # Counted exactly: 4 of 5 is enough.
    n_valid = (data.matrix.trials > 0).sum(axis=1)
    enough = n_valid >= FULL_RUN_MIN_VALID * data.matrix.n_questions
    if enough.all():
        return data
    n_out = int((~enough).sum())
    if not enough.any():
        raise NotEnoughDataError(
            f"{data.label}: no run has valid verdicts on {FULL_RUN_MIN_VALID:.0%} of the questions"
        )
    note = (
        f"{n_out} of {enough.size} runs are left out: "
        f"fewer than {FULL_RUN_MIN_VALID:.0%} of their verdicts are valid"
    )
    return _select(data, enough, (*data.notes, note))


def _select(data: ReplayData, rows: NDArray[np.bool_], notes: tuple[str, ...]) -> ReplayData:
    families = tuple(name for name, kept in zip(data.families, rows, strict=True) if kept)
    return replace(data, matrix=data.matrix.select_runs(rows), families=families, notes=notes)
