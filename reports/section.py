"""A section of a page: its title, words, figures, chart and tables, ready for the template."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from reports.drawing import Drawing
from reports.wording import clipped, counted

MAX_CELL = 240

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Heading of a table column; numbers are set flush right, long texts may wrap."""

    heading: str
    numeric: bool = False
    wraps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """A table ready for the page.

    Attributes
    ----------
    rows : tuple of tuple of str
        One text per column; the first names the row.
    marked : tuple of bool
        Rows to make out at a glance (failed, outside, too few); as long as `rows`.
    n_cut : int
        Rows left out, `cut_words` says which.
    fold : str
        Words to unfold it by; empty for a table that is open.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: tuple[bool, ...]
    n_cut: int = 0
    cut_words: str = ""
    fold: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure set large with its meaning; `code` is a name set in the font of code."""

    label: str
    meaning: str
    figure: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a page.

    Attributes
    ----------
    anchor : str
        Fragment of the section on the page.
    empty : str
        Why there may be nothing to show, and what to do.
    drawing : Drawing or None
    reading : tuple of str
        How to read the drawing, one paragraph each.
    by_time : bool
        Whether the newest is on the right, to be seen first where the drawing scrolls.
    tiles : tuple of Tile
    text : tuple of str
        Paragraphs; like `empty` they set in the font of code what stands in backquotes.
    tables : tuple of DataTable
        Those without rows are not shown.
    """

    anchor: str
    heading: str
    empty: str = ""
    drawing: Drawing | None = None
    reading: tuple[str, ...] = ()
    by_time: bool = False
    tiles: tuple[Tile, ...] = ()
    text: tuple[str, ...] = ()
    tables: tuple[DataTable, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no drawing, no figure and no open table with rows."""
        is_open = any(table.rows and not table.fold for table in self.tables)
        return self.drawing is None and not self.tiles and not is_open


def make_table(
    caption: str,
    columns: Sequence[str],
    records: Sequence[Row],
    cells: Callable[[Row], Iterable[str]],
    *,
    cap: int,
    cut_words: str,
    mark: Callable[[Row], bool] = lambda _: False,
    fold: str | None = None,
) -> DataTable:
    """Fill a table with the first `cap` of `records`, one row each.

    Parameters
    ----------
    caption : str
    columns : sequence of str
        Headings; a leading ``#`` marks numbers, ``~`` texts that may be long.
    records : sequence
    cells : callable
        Texts of a record's row.
    cap : int
    cut_words : str
        What is left out beyond `cap`.
    mark : callable
        Whether a record's row is marked.
    fold : str, optional
        Words to unfold it by; by default the caption with the number of rows, empty for a
        table that is open.
    """
    shown = records[:cap]
    return DataTable(
        caption=caption,
        columns=tuple(
            Column(heading=c.lstrip("#~"), numeric=c.startswith("#"), wraps=c.startswith("~"))
            for c in columns
        ),
        rows=tuple(tuple(clipped(cell, MAX_CELL) for cell in cells(record)) for record in shown),
        marked=tuple(mark(record) for record in shown),
        n_cut=max(0, len(records) - cap),
        cut_words=cut_words,
        fold=f"{caption} (table, {counted(len(shown), 'row')})" if fold is None else fold,
    )
