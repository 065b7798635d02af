"""Read JSON lines, one object per line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from jobs.harnesses.table.column import Column, RawTable
from jobs.harnesses.table.names import wanted_headers
from recurring_eval.errors import InputError

_CHUNK_ROWS: Final = 50_000
LIST_SEPARATOR: Final = "\x1f"


def read_jsonl(path: Path) -> RawTable:
    """Read a file of one JSON object per line; empty lines are skipped.

    Raises
    ------
    InputError
        Naming the line that is not an object, e.g. the last of a file cut short.
    """
    cells: dict[str, list[object]] = {}
    headers: dict[str, None] = {}
    line_numbers: list[int] = []
    for numbers, rows in _chunks(path):
        done = len(line_numbers)
        keys: Any = None
        for row in rows:
            if row.keys() != keys:  # hardly ever: rows of one file are alike
                keys = row.keys()
                headers.update(dict.fromkeys(keys))
        for header in _known(headers):
            column = cells.setdefault(header, [None] * done)
            column.extend([row.get(header) for row in rows])
        line_numbers.extend(numbers)
    if not line_numbers:
        raise InputError("has no rows")
    names = wanted_headers(list(headers))
    ordered = list(headers)
    try:
        columns = {
            name: _column(ordered[position], cells[ordered[position]])
            for name, position in names.items()
        }
    except TypeError:
        raise InputError("a cell holds an object where a single value is needed") from None
    return RawTable(
        columns=columns,
        headers=tuple(ordered),
        n_rows=len(line_numbers),
        row_word="line",
        row_numbers=np.array(line_numbers, dtype=np.int64),
    )


def _known(headers: dict[str, None]) -> list[str]:
    ordered = list(headers)
    return [ordered[position] for position in wanted_headers(ordered).values()]


def _chunks(path: Path) -> Iterator[tuple[list[int], list[dict[str, Any]]]]:
    numbers: list[int] = []
    rows: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            rows.append(_parse(line, number))
            numbers.append(number)
            if len(rows) == _CHUNK_ROWS:
                yield numbers, rows
                numbers, rows = [], []
    if rows:
        yield numbers, rows


def _parse(line: bytes, number: int) -> dict[str, Any]:
    try:
        # A line without its end is a log cut short while it was written.
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except json.JSONDecodeError as error:
        cut = "" if line.endswith(b"\n") else "; the file is cut short there"
        raise InputError(f"line {number} is not valid JSON: {error.msg}{cut}") from None
    except UnicodeDecodeError:
        raise InputError(f"line {number} is not UTF-8 text") from None
    except (RecursionError, ValueError):
        raise InputError(f"line {number} cannot be read as JSON") from None
    if not isinstance(row, dict):
        raise InputError(f"line {number} is a JSON {type(row).__name__}, not an object")
    return row


def _column(name: str, cells: list[object]) -> Column:
    kinds = set(map(type, cells)) - {type(None)}
    if list in kinds:
        cells = [_joined(cell) if isinstance(cell, list) else cell for cell in cells]
    elif len(kinds) == 1 and kinds < {str, bool, int, float}:
        try:
            return Column.from_arrow(name, pa.chunked_array([pa.array(cells)]))
        except (UnicodeEncodeError, OverflowError):
            pass  # text that is no UTF-8, or a number too large, is refused where it matters
    return Column.from_objects(name, cells)


def _joined(cell: list[object]) -> object:
    if all(isinstance(item, str) for item in cell):
        return LIST_SEPARATOR.join(map(str, cell))
    return cell
