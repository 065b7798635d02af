"""Read delimited text, every cell as the text it is."""

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv

from jobs.harnesses.table.columns import Column, RawTable, normalised, wanted_headers
from recurring_eval.errors import InputError

_DELIMITERS: Final = ",;\t|"
_HEAD_BYTES: Final = 1 << 20
_BLOCK_BYTES: Final = 16 << 20
_UTF16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_csv(
    path: Path,
    *,
    wanted: Callable[[list[str]], dict[str, int]] = wanted_headers,
    row_word: str = "row",
) -> RawTable:
    """Read a file delimited by commas, semicolons, tabs or bars.

    Cells stay text: ``001``, ``NA`` and ``null`` are themselves. A UTF-8 mark,
    CRLF and quoted line breaks are understood; bytes that are not UTF-8 are read as
    Latin-1, with a note.

    Parameters
    ----------
    path : Path
    wanted : callable
        From the headers to the position of each column to read, by its name.
    row_word : str
        What rows are called in the message on one with too few or too many cells.

    Raises
    ------
    InputError
        If the file has no rows, or a row with too few or too many cells.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    encoding = "utf-16" if head.startswith(_UTF16_MARKS) else "utf8"
    headers, delimiter = read_header(head, encoding)
    positions = wanted(headers)
    if not positions:
        positions = {normalised(headers[0]): 0}  # rows must be counted all the same
    notes: list[str] = []
    try:
        table = _parse_csv(path, len(headers), sorted(positions.values()), delimiter, encoding)
    except pa.ArrowInvalid as error:
        if "invalid UTF8" not in str(error):
            raise InputError(_explain(str(error), row_word)) from None
        notes.append("is not UTF-8; read as Latin-1")
        try:
            table = _parse_csv(path, len(headers), sorted(positions.values()), delimiter, "latin-1")
        except (pa.ArrowInvalid, UnicodeError) as other:
            raise InputError(_explain(str(other), row_word)) from None
    except (UnicodeError, pa.ArrowException) as error:
        raise InputError(f"cannot be read as text: {error}") from None
    if not table.num_rows:
        raise InputError("has a header but no rows")
    n_lines, is_ended = _line_ends(path)
    if not is_ended and encoding != "utf-16":
        notes.append("the last line has no end; see that the file was not cut short")
    return RawTable(
        columns={
            name: Column.from_arrow(headers[position], table.column(f"c{position}"))
            for name, position in positions.items()
        },
        headers=tuple(headers),
        n_rows=table.num_rows,
        row_word="line" if n_lines == table.num_rows + 1 else "row",
        row_numbers=np.arange(2, table.num_rows + 2),
        notes=tuple(notes),
    )


def read_header(head: bytes, encoding: str) -> tuple[list[str], str]:
    """Headers and delimiter.

    Raises
    ------
    InputError
        If the first line is none.
    """
    try:
        # A character cut at the end of `head` is no error: the decoder waits for the rest.
        text = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf8" else encoding)()
        decoded = text.decode(head)
    except UnicodeDecodeError:
        decoded = head.decode("latin-1")
    decoded = decoded.lstrip("\r\n")
    first_line = decoded.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    try:
        headers = next(csv.reader(io.StringIO(decoded, newline=""), delimiter=delimiter))
    except (StopIteration, csv.Error) as error:
        raise InputError(f"its first line is not a header: {error}") from None
    if not headers:
        raise InputError("its first line is not a header")
    return headers, delimiter


def _parse_csv(
    path: Path, n_columns: int, positions: list[int], delimiter: str, encoding: str
) -> pa.Table:
    names = [f"c{position}" for position in positions]
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        include_columns=names,
        null_values=[],
        strings_can_be_null=False,
    )
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    read = pa.csv.ReadOptions(
        column_names=[f"c{position}" for position in range(n_columns)],
        skip_rows_after_names=1,  # the header, whose names are ours
        block_size=_BLOCK_BYTES,
        encoding=encoding,
        use_threads=False,  # errors then name the row
    )
    return pa.csv.read_csv(path, read_options=read, parse_options=parse, convert_options=convert)


def _explain(message: str, row_word: str) -> str:
    row = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if row is not None:
        return (
            f"{row_word} {row[1]} has {row[3]} cells, not {row[2]} as the header: "
            "the file is cut short or a cell lacks its quotes"
        )
    return f"cannot be read as a delimited table: {message.splitlines()[0]}"


def _line_ends(path: Path) -> tuple[int, bool]:
    """Count the lines, and whether the last one has its end."""
    count, last = 0, b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            count += block.count(b"\n")
            last = block[-1:]
    is_ended = last == b"\n"
    return count + (not is_ended), is_ended


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
            rows.append(_parse_line(line, number))
            numbers.append(number)
            if len(rows) == _CHUNK_ROWS:
                yield numbers, rows
                numbers, rows = [], []
    if rows:
        yield numbers, rows


def _parse_line(line: bytes, number: int) -> dict[str, Any]:
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
