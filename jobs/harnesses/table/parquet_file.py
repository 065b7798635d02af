"""Parquet files: their known columns, whole, in batches, or with scattered rows gathered."""

import contextlib
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from jobs.harnesses.table.columns import Column, RawTable, wanted_headers
from jobs.harnesses.table.text_files import LIST_SEPARATOR
from recurring_eval.errors import InputError

PARQUET_MARK: Final = b"PAR1"
_NUMBER: Final = "\0row"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetTable:
    """The known columns of a Parquet file, read whole or in batches of rows.

    Attributes
    ----------
    path : Path
    headers : tuple of str
    written : mapping of str to str
        Normalised name -> name as written, of the known columns.
    n_rows : int
    """

    path: Path
    headers: tuple[str, ...]
    written: Mapping[str, str]
    n_rows: int

    @classmethod
    def open(
        cls, path: Path, *, wanted: Callable[[list[str]], dict[str, int]] = wanted_headers
    ) -> "ParquetTable":
        """Read a file's schema and size; `wanted` as in `read_parquet`.

        Raises
        ------
        InputError
            If the file is damaged, cut short or without rows.
        """
        with _readable(), pq.ParquetFile(path) as file:
            headers = tuple(file.schema_arrow.names)
            n_rows = file.metadata.num_rows
        if not n_rows:
            raise InputError("has columns but no rows")
        written = {name: headers[at] for name, at in wanted(list(headers)).items()}
        return cls(path=path, headers=headers, written=written, n_rows=n_rows)

    def read(self) -> RawTable:
        """Read all rows.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        # By name, and only plain columns: nested ones have no known name but `tags`.
        with _readable(), self._file(self.written) as file:
            rows = file.read(columns=list(self.written.values()))
            rows.validate(full=True)
            return self.table(rows, 1)

    def batches(self, names: Collection[str], n_rows: int) -> Iterator[pa.Table]:
        """Read the columns of these normalised names, about `n_rows` rows at a time.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        with _readable(), self._file(names) as file:
            columns = [self.written[name] for name in names]
            for batch in file.iter_batches(n_rows, columns=columns):
                batch.validate(full=True)
                yield pa.Table.from_batches([batch])

    def table(self, rows: pa.Table, numbers: NDArray[np.int64] | int) -> RawTable:
        """Code the columns of some rows.

        Parameters
        ----------
        rows : pyarrow.Table
        numbers : ndarray of int64 or int
            Numbers of the rows in the file, or that of the first if they are consecutive.
        """
        if isinstance(numbers, int):
            numbers = np.arange(numbers, numbers + rows.num_rows)
        with _readable():
            columns = {
                name: Column.from_arrow(header, _plain(rows.column(header)))
                for name, header in self.written.items()
                if header in rows.column_names
            }
        return RawTable(
            columns=columns,
            headers=self.headers,
            n_rows=rows.num_rows,
            row_word="row",
            row_numbers=numbers,
        )

    def _file(self, names: Collection[str]) -> pq.ParquetFile:
        """Open the file so that text comes as codes and distinct values."""
        with pq.ParquetFile(self.path) as file:
            kinds = {field.name: field.type for field in file.schema_arrow}
        headers = [self.written[name] for name in names]
        text = [header for header in headers if pa.types.is_string(kinds[header])]
        return pq.ParquetFile(self.path, read_dictionary=text, pre_buffer=False)


def read_parquet(
    path: Path, *, wanted: Callable[[list[str]], dict[str, int]] = wanted_headers
) -> RawTable:
    """Read the known columns of a Parquet file.

    Parameters
    ----------
    path : Path
    wanted : callable
        From the headers to the position of each column to read, by its name.

    Raises
    ------
    InputError
        If the file is damaged, cut short or without rows.
    """
    return ParquetTable.open(path, wanted=wanted).read()


def is_parquet(path: Path) -> bool:
    """Whether a file begins as Parquet does.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(len(PARQUET_MARK)) == PARQUET_MARK


def row_count(path: Path) -> int:
    """Rows of a Parquet file; 0 if it cannot be read."""
    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError, ValueError):
        return 0


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"is damaged or cut short, not readable as Parquet: {text}") from None


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


def cut(batches: Iterator[pa.Table], sizes: Collection[int]) -> Iterator[pa.Table]:
    """Join batches and cut them into tables of the given numbers of rows."""
    held: list[pa.Table] = []
    n_held = 0
    for size in sizes:
        while n_held < size:
            batch = next(batches)
            held.append(batch)
            n_held += batch.num_rows
        joined = pa.concat_tables(held)
        yield joined.slice(0, size)
        held = [joined.slice(size)]
        n_held -= size


def spooled_parts(
    batches: Iterator[pa.Table],
    parts_of: Callable[[pa.Table], NDArray[np.intp]],
    *,
    n_parts: int,
) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
    """Gather the rows of each part from a stream of rows in any order.

    Parameters
    ----------
    batches : iterator of pyarrow.Table
    parts_of : callable
        Part of each row of a batch, shape (n_rows,).
    n_parts : int

    Yields
    ------
    rows : pyarrow.Table
        All rows of a part, in the order of the stream.
    numbers : ndarray of int64, shape (n_rows,)
        Number of each row in the stream, from 1.
    """
    with tempfile.TemporaryDirectory(prefix="recurring-eval-") as folder:
        paths = [Path(folder, f"{number}.parquet") for number in range(n_parts)]
        _distribute(batches, parts_of, paths)
        for path in paths:
            rows = pq.read_table(path)
            path.unlink()
            numbers = rows.column(_NUMBER).to_numpy()
            yield rows.drop_columns([_NUMBER]), numbers


def _distribute(
    batches: Iterator[pa.Table],
    parts_of: Callable[[pa.Table], NDArray[np.intp]],
    paths: list[Path],
) -> None:
    writers: dict[int, pq.ParquetWriter] = {}
    n_rows = 0
    try:
        for batch in batches:
            numbers = pa.array(np.arange(n_rows + 1, n_rows + batch.num_rows + 1))
            n_rows += batch.num_rows
            part = parts_of(batch)
            order = np.argsort(part, kind="stable")
            rows = batch.append_column(_NUMBER, numbers).take(pa.array(order))
            starts = np.flatnonzero(np.diff(part[order], prepend=-1))
            ends = [*starts[1:].tolist(), len(part)]
            for start, end in zip(starts.tolist(), ends, strict=True):
                number = int(part[order[start]])
                if number not in writers:
                    writers[number] = pq.ParquetWriter(paths[number], rows.schema)
                writers[number].write_table(rows.slice(start, end - start))
    finally:
        for writer in writers.values():
            writer.close()
