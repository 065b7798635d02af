"""Which way a wide table lies: a row per run, or a column per run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from jobs.harnesses.table.column import Column, normalised
from jobs.harnesses.table.names import KNOWN, NAMES
from jobs.harnesses.table.verdict_words import may_be_verdict
from recurring_eval.errors import InputError

_RUN: Final = frozenset((*NAMES["run"], "agent", "model"))
_QUESTION: Final = frozenset((*NAMES["question"], "question"))
_VERDICT: Final = frozenset(NAMES["verdict"])
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Positions of the columns by what they are.

    Attributes
    ----------
    has_row_per_run : bool
    key : int
        Column of the runs, or of the questions.
    facts : tuple of int
        Columns that describe a row.
    cells : tuple of int
        Columns of verdicts.
    """

    has_row_per_run: bool
    key: int
    facts: tuple[int, ...]
    cells: tuple[int, ...]


def layout_of(headers: Sequence[str]) -> Layout | None:
    """Layout that the headers alone allow; None if they could be those of a long table."""
    names = [normalised(header) for header in headers]
    met = set(names)
    if len(names) < 2 or met & _VERDICT:
        return None
    cells = tuple(at for at, name in enumerate(names) if at and name not in KNOWN)
    facts = tuple(at for at, name in enumerate(names) if at and name in KNOWN)
    if not cells:
        return None
    others = {names[at] for at in facts}
    if names[0] in _QUESTION and not others & (_RUN | _QUESTION):
        return Layout(has_row_per_run=False, key=0, facts=facts, cells=cells)
    if met & _QUESTION or len(cells) < 2:
        return None
    keys = [at for at, name in enumerate(names) if name in NAMES["run"] and name != "date"]
    key = keys[0] if keys else 0
    if names[key] not in _RUN:
        return None
    rest = tuple(at for at in (0, *facts) if at != key)
    if any(names[at] not in KNOWN for at in rest):
        return None
    return Layout(has_row_per_run=True, key=key, facts=rest, cells=cells)


def holds_verdicts(rows: Sequence[Sequence[object]], layout: Layout) -> bool:
    """Whether the first rows have verdicts where the layout puts them."""
    told = [
        row[at]
        for row in rows
        for at in layout.cells
        if at < len(row) and (layout.has_row_per_run or normalised(str(row[0])) not in KNOWN)
    ]
    return bool(told) and all(map(may_be_verdict, told)) and any(map(_is_filled, told))


def _is_filled(value: object) -> bool:
    return value is not None and bool(str(value).strip())


def check_distinct(headers: Sequence[str], layout: Layout) -> None:
    """Refuse two columns of one name.

    Raises
    ------
    InputError
    """
    counts = Counter(headers[at] for at in layout.cells)
    twice = [name for name, n in counts.items() if n > 1]
    if twice:
        what = "question" if layout.has_row_per_run else "run"
        raise InputError(
            f"has {len(twice)} {what}s with several columns, among them {twice[0]!r:.80}; "
            "keep one of each"
        )


def without_time(layout: Layout, headers: Sequence[str]) -> InputError:
    """Error for a table that does not say when its runs were."""
    shown = ", ".join(repr(headers[at])[:40] for at in layout.cells[:_SHOWN])
    if layout.has_row_per_run:
        return InputError(
            f"has a row per run (questions {shown}, ...) but says nowhere when they were; add a "
            "column started_at"
        )
    return InputError(
        f"has a column per run ({shown}, ...) but says nowhere when they were; add a row whose "
        "first cell is started_at, or put the dates into the headings"
    )


def stacked(columns: Sequence[Column], name: str) -> Column:
    """Columns under one another."""
    position: dict[tuple[type, object], int] = {}
    parts = []
    for column in columns:
        lookup = [position.setdefault((type(v), v), len(position)) for v in column.scalars()]
        parts.append(column.take(np.array(lookup, dtype=np.int32), -1))
    return Column(
        name=name, codes=np.concatenate(parts), values=tuple(value for _, value in position)
    )
