"""Read delimited text with a header, every cell as it is."""

import csv
import io
from pathlib import Path
from typing import Final

from recurring_eval.errors import InputError

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
