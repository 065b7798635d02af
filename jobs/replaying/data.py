"""The runs a replay works on: a plain matrix file, or the stored history.

A plain matrix is a CSV file with a row per run and a column per question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.app.app import App
from jobs.app.targets import Target, one_benchmark, one_target
from jobs.harnesses.table.columns import RawTable
from jobs.harnesses.table.run_facts import NO_TIME, read_times
from jobs.harnesses.table.wide_table import read_wide
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.records import FULL_RUN_MIN_VALID, Run, RunKind
from recurring_eval.response_matrix import ResponseMatrix
from storage.runs.benchmarks import current_bank
from storage.runs.runs import list_runs

_RUN: Final = ("run", "run_id", "run_key")
_TIME: Final = ("started_at",)
_AGENT: Final = ("agent",)
_FAMILY: Final = ("agent_family", "family")
_CELLS: Final = {"1": 1, "0": 0, "": -1, "1.0": 1, "0.0": 0}
_UNKNOWN: Final = -2
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayData:
    """Full runs with enough valid verdicts.

    Attributes
    ----------
    label : str
        What they are, for titles.
    matrix : ResponseMatrix
        Runs in time order, or without times in file order with starts an hour apart, for
        their order alone; questions by id.
    families : tuple of str
        Agent family of each run, ``main`` where a file has none.
    timed : bool
        Whether the starts of the runs are known.
    notes : tuple of str
        What the user should know.
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
    data = read_wide_matrix(path)
    if family is not None:
        rows = np.array([name == family for name in data.families], dtype=np.bool_)
        if not rows.any():
            known = ", ".join(sorted(set(data.families)))
            raise InputError(f"no runs of agent family {family!r}; known families: {known}")
        data = _select(data, rows, data.notes)
    return _enough_verdicts(data)


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
        bank = current_bank(history, target.benchmark)
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


def read_wide_matrix(path: Path) -> ReplayData:
    """Read ``FILE.csv``.

    The first column names the run (header ``run`` or ``run_id``) or else the agent, which
    may have several rows. Columns ``started_at``, ``agent`` and ``family`` are optional.
    Every other column is a question with the cells 1 (pass), 0 (fail) and empty (missing).

    Raises
    ------
    InputError
        Naming file, line and question of what is wrong.
    """
    try:
        return _read(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read(path: Path) -> ReplayData:
    raw = read_wide(path, row_word=_row_word(path))
    header = [name.strip() for name in raw.headers]
    _require_names(header)
    time, agent, family = (_only(header, names) for names in (_TIME, _AGENT, _FAMILY))
    questions = [j for j in range(1, len(header)) if j not in (time, agent, family)]
    if not questions:
        raise InputError("has no question columns; each question is a column with 1, 0 or empty")
    names = _texts(raw, 0)
    if "" in names:
        where = raw.place(names.index(""))
        raise InputError(f"{where}: the first column, which names the run, is empty")
    names_runs = header[0].casefold() in _RUN or agent is not None
    passes, trials = _verdicts(raw, questions)
    starts, notes = _starts(raw, time)
    matrix = ResponseMatrix(
        passes=passes,
        trials=trials,
        run_ids=_distinct(raw, names, names_runs=names_runs),
        question_ids=tuple(header[j] for j in questions),
        started_at=tuple(starts),
        agents=tuple(_texts(raw, agent, names)),
    )
    order, _ = matrix.canonical_order()
    families = _texts(raw, family, ["main"] * raw.n_rows)
    return ReplayData(
        label=path.name,
        matrix=matrix.select_runs(order).align_questions(sorted(matrix.question_ids)),
        families=tuple(families[i] for i in order),
        timed=time is not None,
        notes=tuple(notes),
    )


def _row_word(path: Path) -> str:
    """``line`` if each row of the file is one line, else ``row``; refuse what is no text."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError("no such file") from None
    except IsADirectoryError:
        raise InputError("is a folder; name a CSV file") from None
    except UnicodeDecodeError:
        raise InputError("is not text in UTF-8; save it as CSV in UTF-8") from None
    if "\0" in text:
        raise InputError("holds NUL bytes, so it is no CSV file")
    if not text.split("\n", 1)[0].strip():
        raise InputError("its first line is empty; it must name the columns")
    return "row" if '"' in text or "\n\n" in text.replace("\r", "") else "line"


def _require_names(header: Sequence[str]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(header):
        if not name and position:
            raise InputError(f"column {position + 1} has no name; name every question")
        if name in seen:
            raise InputError(f"column `{name}` is there twice; questions need names of their own")
        seen.add(name)


def _only(header: Sequence[str], names: Sequence[str]) -> int | None:
    """Position of the only column after the first that has one of the names."""
    found = [j for j in range(1, len(header)) if header[j].casefold() in names]
    if len(found) > 1:
        both = " and ".join(f"`{header[j]}`" for j in found)
        raise InputError(f"columns {both} mean the same; keep one of them")
    return found[0] if found else None


def _distinct(raw: RawTable, names: Sequence[str], *, names_runs: bool) -> tuple[str, ...]:
    """Run ids: the first column, numbered where it names an agent of several runs."""
    taken, used = set(names), set[str]()
    result = []
    for row, name in enumerate(names):
        run_id, copy = name, 1
        if name in used and names_runs:
            raise InputError(f"{raw.place(row)}: run {name!r} is there twice; name each run once")
        while run_id in used or (copy > 1 and run_id in taken):
            copy += 1
            run_id = f"{name} #{copy}"
        used.add(run_id)
        result.append(run_id)
    return tuple(result)


def _verdicts(
    raw: RawTable, questions: Sequence[int]
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    codes = np.empty((raw.n_rows, len(questions)), dtype=np.int16)
    for j, question in enumerate(questions):
        column = raw.columns[str(question)]
        texts = [str(value).strip() for value in column.scalars()]
        codes[:, j] = column.take(np.array([_CELLS.get(text, _UNKNOWN) for text in texts]), -1)
    wrong = np.argwhere(codes == _UNKNOWN)
    if wrong.size:
        row, question = wrong[0][0], questions[wrong[0][1]]
        column = raw.columns[str(question)]
        raise InputError(
            f"{raw.place(row)}, question {column.name.strip()!r}: "
            f"{str(column.scalars()[column.codes[row]])[:40]!r} is not 1, 0 or empty"
        )
    return np.maximum(codes, 0).astype(np.int16), (codes >= 0).astype(np.int16)


def _texts(raw: RawTable, at: int | None, default: Sequence[str] | None = None) -> list[str]:
    """Cells of a column, and the default where there is none or a cell is empty."""
    if at is None:
        return list(default or ())
    column = raw.columns[str(at)]
    values = [str(value).strip() for value in column.scalars()]
    texts = [values[code] for code in column.codes]
    return [text or other for text, other in zip(texts, default or texts, strict=True)]


def _starts(raw: RawTable, at: int | None) -> tuple[list[datetime], list[str]]:
    """Read starts in UTC, with a note if one of them had no zone."""
    if at is None:
        return [_EPOCH + timedelta(hours=i) for i in range(raw.n_rows)], []
    column = raw.columns[str(at)]
    times, notes = read_times(raw, column, None)
    empty = np.flatnonzero(times == NO_TIME)
    if empty.size:
        raise InputError(
            f"{raw.place(int(empty[0]))}, column `{column.name}`: the time is empty; give every "
            "run its time, or none"
        )
    starts = [_EPOCH + timedelta(microseconds=us) for us in times.tolist()]
    return starts, [f"times in `{column.name}` have no zone; read as UTC"] if notes else []
