"""Tables in coded form: each column as its distinct values and one code per row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table.

    Whatever must look at each value does so once per distinct value.

    Attributes
    ----------
    name : str
        As the file writes it.
    codes : ndarray of int32, shape (n_rows,)
        Row -> position in `values`; -1 where the cell is null.
    values : pyarrow.Array or tuple
        Distinct values: an Arrow array, or Python scalars where types are mixed.
    """

    name: str
    codes: NDArray[np.int32]
    values: Any

    @classmethod
    def from_arrow(cls, name: str, array: pa.ChunkedArray) -> "Column":
        """Code an Arrow column."""
        if pa.types.is_dictionary(array.type):
            column = cls._from_dictionary(name, array)
            if column is not None:
                return column
            array = array.cast(array.type.value_type)
        if pa.types.is_null(array.type):  # coded, its nulls would count as values
            array = array.cast(pa.string())
        coded = array.combine_chunks().dictionary_encode()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        codes = pc.fill_null(coded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
        return cls(name=name, codes=codes, values=coded.dictionary)

    @classmethod
    def _from_dictionary(cls, name: str, array: pa.ChunkedArray) -> "Column | None":
        """Take over the codes of a dictionary; None if its values are not distinct."""
        coded = array.unify_dictionaries().combine_chunks()
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        values = coded.dictionary
        if values.null_count or len(values.unique()) != len(values):
            return None
        old = pc.fill_null(coded.indices.cast(pa.int32()), -1).to_numpy(zero_copy_only=False)
        # Values in the order in which they are first met, those of other rows left out.
        first = np.full(len(values) + 1, len(old), dtype=np.int64)
        first[old[::-1]] = np.arange(len(old) - 1, -1, -1)
        used = np.argsort(first[:-1], kind="stable")
        used = used[first[used] < len(old)]
        new = np.full(len(values) + 1, -1, dtype=np.int32)
        new[used] = np.arange(len(used))
        return cls(name=name, codes=new[old], values=values.take(pa.array(used)))

    @classmethod
    def from_objects(cls, name: str, cells: list[object]) -> "Column":
        """Code a list of hashable Python scalars."""
        position: dict[tuple[type, object], int] = {}
        codes = np.empty(len(cells), dtype=np.int32)
        for row, cell in enumerate(cells):
            if cell is None:
                codes[row] = -1
                continue
            # The type is part of the key: True, 1 and 1.0 are equal in Python.
            key = (type(cell), cell if cell == cell else "nan")  # NaN
            codes[row] = position.setdefault(key, len(position))
        values = tuple(float("nan") if k == (float, "nan") else k[1] for k in position)
        return cls(name=name, codes=codes, values=values)

    @property
    def is_temporal(self) -> bool:
        """Whether it holds typed times, which may lie beyond what Python can show."""
        return not isinstance(self.values, tuple) and pa.types.is_temporal(self.values.type)

    def scalars(self) -> list[object]:
        """Distinct values as Python scalars."""
        values = self.values
        return list(values) if isinstance(values, tuple) else list(values.to_pylist())

    def first_row(self, code: int) -> int:
        """First row with a code."""
        return int(np.flatnonzero(self.codes == code)[0])

    def take(self, lookup: NDArray[Any], null: float) -> NDArray[Any]:
        """Look up each row's value in an array aligned with `values`; `null` where null."""
        padded = np.append(lookup, np.array([null], dtype=lookup.dtype))
        return padded[self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """The columns of a file that mean something to us, nothing interpreted yet.

    Attributes
    ----------
    columns : mapping of str to Column
        By normalised name (lower case, underscores).
    headers : tuple of str
        Every column of the file, as written.
    n_rows : int
    row_word : str
        ``line`` or ``row``: what the numbers of `row_numbers` count.
    row_numbers : ndarray of int64, shape (n_rows,), or int
        Number of each row in the file, or of the first when they are consecutive.
    notes : tuple of str
    """

    columns: Mapping[str, Column]
    headers: tuple[str, ...]
    n_rows: int
    row_word: str
    row_numbers: NDArray[np.int64] | int
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> str:
        """Where a row is, e.g. ``line 17``."""
        numbers = self.row_numbers
        number = numbers + row if isinstance(numbers, int) else numbers[row]
        return f"{self.row_word} {number}"


def normalised(header: str) -> str:
    """Lower case, with underscores for spaces and hyphens."""
    return "_".join(header.strip().lower().replace("-", " ").split())
