"""Plain matrices: a CSV file with a row per run and a column per question."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.table.columns import RawTable
from jobs.harnesses.table.run_facts import NO_TIME, read_times
from jobs.harnesses.table.wide_table import read_wide
from recurring_eval.errors import InputError
from recurring_eval.response_matrix import ResponseMatrix

_RUN_HEADERS: Final = ("run", "run_id", "run_key")
_TIME: Final = "started_at"
_AGENT: Final = "agent"
_FAMILY: Final = ("agent_family", "family")
_CELLS: Final = {"1": 1, "0": 0, "": -1, "1.0": 1, "0.0": 0}
_UNKNOWN: Final = -2
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WideMatrix:
    """A plain matrix as read.

    Attributes
    ----------
    matrix : ResponseMatrix
        Runs by start where the file has times, else in its order; questions by id. Without
        times the runs are given starts an hour apart, for their order alone.
    families : tuple of str
        Agent family of each run, ``main`` where the file has none.
    timed : bool
        Whether the file has times.
    notes : tuple of str
        What the user should know.
    """

    matrix: ResponseMatrix
    families: tuple[str, ...]
    timed: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Positions of the columns that are no questions, and of those that are."""

    time: int | None
    agent: int | None
    family: int | None
    questions: tuple[int, ...]
    has_run_ids: bool


def read_wide_matrix(path: Path) -> WideMatrix:
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


def _read(path: Path) -> WideMatrix:
    raw = read_wide(path, row_word=_row_word(path))
    columns = _columns([name.strip() for name in raw.headers])
    names = _texts(raw, 0)
    if "" in names:
        where = raw.place(names.index(""))
        raise InputError(f"{where}: the first column, which names the run, is empty")
    run_ids = _distinct(raw, names, columns)
    passes, trials = _verdicts(raw, columns.questions)
    agents = _texts(raw, columns.agent, names)
    starts, notes = _starts(raw, columns.time)
    matrix = ResponseMatrix(
        passes=passes,
        trials=trials,
        run_ids=run_ids,
        question_ids=tuple(raw.headers[j].strip() for j in columns.questions),
        started_at=tuple(starts),
        agents=tuple(agents),
    )
    order = np.array(
        sorted(range(len(starts)), key=lambda i: (starts[i], run_ids[i])), dtype=np.intp
    )
    families = _texts(raw, columns.family, ["main"] * raw.n_rows)
    return WideMatrix(
        matrix=matrix.select_runs(order).align_questions(sorted(matrix.question_ids)),
        families=tuple(families[i] for i in order),
        timed=columns.time is not None,
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


def _columns(header: Sequence[str]) -> _Columns:
    folded = [name.casefold() for name in header]
    seen: dict[str, int] = {}
    for position, name in enumerate(header):
        if not name and position:
            raise InputError(f"column {position + 1} has no name; name every question")
        if name in seen:
            raise InputError(f"column `{name}` is there twice; questions need names of their own")
        seen[name] = position
    time = _only(header, folded, (_TIME,))
    agent = _only(header, folded, (_AGENT,))
    family = _only(header, folded, _FAMILY)
    questions = tuple(j for j in range(1, len(header)) if j not in (time, agent, family))
    if not questions:
        raise InputError("has no question columns; each question is a column with 1, 0 or empty")
    return _Columns(
        time=time,
        agent=agent,
        family=family,
        questions=questions,
        has_run_ids=folded[0] in _RUN_HEADERS or agent is not None,
    )


def _only(header: Sequence[str], folded: Sequence[str], names: Sequence[str]) -> int | None:
    found = [j for j in range(1, len(folded)) if folded[j] in names]
    if len(found) > 1:
        both = " and ".join(f"`{header[j]}`" for j in found)
        raise InputError(f"columns {both} mean the same; keep one of them")
    return found[0] if found else None


def _distinct(raw: RawTable, names: Sequence[str], columns: _Columns) -> tuple[str, ...]:
    """Run ids: the first column, numbered where it names an agent of several runs."""
    taken, used = set(names), set[str]()
    result = []
    for row, name in enumerate(names):
        run_id, copy = name, 1
        if name in used and columns.has_run_ids:
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
