"""Read Parquet."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.harnesses.table.column import Column, RawTable
from jobs.harnesses.table.jsonl_file import LIST_SEPARATOR
from jobs.harnesses.table.names import wanted_headers
from recurring_eval.errors import InputError


def read_parquet(path: Path) -> RawTable:
    """Read the known columns of a Parquet file.

    Raises
    ------
    InputError
        If the file is damaged, cut short or without rows.
    """
    try:
        with pq.ParquetFile(path) as file:
            headers = list(file.schema_arrow.names)
            positions = wanted_headers(headers)
            # By name, and only plain columns: nested ones have no known name but `tags`.
            table = file.read(columns=[headers[position] for position in positions.values()])
            n_rows = file.metadata.num_rows
        table.validate(full=True)
        columns = {
            name: Column.from_arrow(headers[position], _plain(table.column(headers[position])))
            for name, position in positions.items()
        }
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"is damaged or cut short, not readable as Parquet: {text}") from None
    if not n_rows:
        raise InputError("has columns but no rows")
    return RawTable(
        columns=columns, headers=tuple(headers), n_rows=n_rows, row_word="row", row_numbers=1
    )


def _plain(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as `string`, lists of text joined, everything else as it is."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        joined = pc.binary_join(array.cast(pa.list_(pa.string())), LIST_SEPARATOR)
        return pa.chunked_array([joined]) if isinstance(joined, pa.Array) else joined
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64())
    if any(
        check(kind)
        for check in (pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary)
    ):
        return array.cast(pa.string())
    if pa.types.is_nested(kind):
        raise InputError("a column holds records where single values are needed")
    return array
