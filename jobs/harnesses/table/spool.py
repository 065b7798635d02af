"""Rows of scattered runs, brought together through temporary files."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

_NUMBER: Final = "\0row"


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
