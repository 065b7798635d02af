"""Read delimited text with a header, every cell as it is."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.response_matrix import ResponseMatrix

_DELIMITERS: Final = ",;\t|"


def read_table(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Read a delimited table as text: header, rows and the line each row ends on.

    Commas, semicolons, tabs or bars delimit it; blank lines are passed over.

    Raises
    ------
    InputError
        If it is no such table, or a row has too few or too many cells.
    """
    text = _text(path)
    delimiter = max(_DELIMITERS, key=text.split("\n", 1)[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    numbers: list[int] = []
    try:
        header = [cell.strip() for cell in next(reader)]
        for row in filter(None, reader):
            if len(row) != len(header):
                raise InputError(
                    f"line {reader.line_num} has {len(row)} cells, not {len(header)} as the header"
                )
            rows.append(row)
            numbers.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} cannot be read as CSV: {error}") from None
    if not rows:
        raise InputError("has a header but no rows")
    return header, rows, numbers


def _text(path: Path) -> str:
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
    return text


_RUN_HEADERS: Final = ("run", "run_id", "run_key")
_TIME: Final = "started_at"
_AGENT: Final = "agent"
_FAMILY: Final = ("agent_family", "family")
_CELLS: Final = {"1": 1, "0": 0, "": -1, "1.0": 1, "0.0": 0}
_UNTIMED_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
    header, lines, numbers = read_table(path)
    columns = _columns(header)
    names = [line[0].strip() for line in lines]
    for name, number in zip(names, numbers, strict=True):
        if not name:
            raise InputError(f"line {number}: the first column, which names the run, is empty")
    run_ids = _distinct(names, numbers, columns)
    passes, trials = _verdicts(header, lines, numbers, columns.questions)
    agents = _texts(lines, columns.agent, names)
    starts, naive = _starts(header, lines, numbers, columns.time)
    notes = [f"times in `{header[columns.time or 0]}` have no zone; read as UTC"] if naive else []
    matrix = ResponseMatrix(
        passes=passes,
        trials=trials,
        run_ids=run_ids,
        question_ids=tuple(header[j] for j in columns.questions),
        started_at=tuple(starts),
        agents=tuple(agents),
    )
    order = np.array(
        sorted(range(len(starts)), key=lambda i: (starts[i], run_ids[i])), dtype=np.intp
    )
    families = _texts(lines, columns.family, ["main"] * len(lines))
    return WideMatrix(
        matrix=matrix.select_runs(order).align_questions(sorted(matrix.question_ids)),
        families=tuple(families[i] for i in order),
        timed=columns.time is not None,
        notes=tuple(notes),
    )


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


def _distinct(names: Sequence[str], numbers: Sequence[int], columns: _Columns) -> tuple[str, ...]:
    """Run ids: the first column, numbered where it names an agent of several runs."""
    taken, used = set(names), set[str]()
    result = []
    for name, number in zip(names, numbers, strict=True):
        run_id, copy = name, 1
        if name in used and columns.has_run_ids:
            raise InputError(f"line {number}: run {name!r} is there twice; name each run once")
        while run_id in used or (copy > 1 and run_id in taken):
            copy += 1
            run_id = f"{name} #{copy}"
        used.add(run_id)
        result.append(run_id)
    return tuple(result)


def _verdicts(
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    numbers: Sequence[int],
    questions: Sequence[int],
) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    codes = np.empty((len(lines), len(questions)), dtype=np.int16)
    for i, line in enumerate(lines):
        try:
            codes[i] = [_CELLS[line[j]] for j in questions]
        except KeyError:
            codes[i] = [_cell(line[j], numbers[i], header[j]) for j in questions]
    return np.maximum(codes, 0).astype(np.int16), (codes >= 0).astype(np.int16)


def _cell(text: str, number: int, question: str) -> int:
    code = _CELLS.get(text.strip())
    if code is None:
        raise InputError(
            f"line {number}, question {question!r}: {text[:40]!r} is not 1, 0 or empty"
        )
    return code


def _texts(lines: Sequence[Sequence[str]], column: int | None, default: list[str]) -> list[str]:
    """Cells of a column, and the default where there is none or a cell is empty."""
    if column is None:
        return default
    return [line[column].strip() or other for line, other in zip(lines, default, strict=True)]


def _starts(
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    numbers: Sequence[int],
    column: int | None,
) -> tuple[list[datetime], bool]:
    """Read starts in UTC, and whether one of them had no zone."""
    if column is None:
        return [_UNTIMED_START + timedelta(hours=i) for i in range(len(lines))], False
    starts, naive = [], False
    for line, number in zip(lines, numbers, strict=True):
        text = line[column].strip()
        where = f"line {number}, column `{header[column]}`"
        if not text:
            raise InputError(f"{where}: the time is empty; give every run its time, or none")
        try:
            start = datetime.fromisoformat(text)
        except ValueError:
            raise InputError(
                f"{where}: {text[:40]!r} is not a time; write it as 2026-11-29T09:00:00Z"
            ) from None
        naive = naive or (start.tzinfo is None and len(text) > len("2026-11-29"))
        start = start if start.tzinfo is not None else start.replace(tzinfo=UTC)
        starts.append(start.astimezone(UTC))
    return starts, naive
