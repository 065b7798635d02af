"""Which runs calibrate and which are tested."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

EVERYONE = ""
"""Name of the only group of a protocol that does not tell groups apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Runs a method is prepared on, and runs it is then tested on.

    Attributes
    ----------
    source, targets : ndarray of intp
        Rows of the response matrix, without a common one.
    """

    source: NDArray[np.intp]
    targets: NDArray[np.intp]

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", _rows(self.source))
        object.__setattr__(self, "targets", _rows(self.targets))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetGroup:
    """Targets whose metrics are taken together.

    Attributes
    ----------
    name : str
        `EVERYONE`, an agent family or a calibration window. Groups of one name are
        averaged over the splits.
    rows : ndarray of intp
    """

    name: str
    rows: NDArray[np.intp]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _rows(self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One division of the runs; every run is a target of one fold at most.

    Attributes
    ----------
    number : int
        Position among the splits of a plan.
    folds : tuple of Fold
    groups : tuple of TargetGroup
    """

    number: int
    folds: tuple[Fold, ...]
    groups: tuple[TargetGroup, ...]

    def rows_of(self, group: str) -> NDArray[np.intp] | None:
        """Rows of the group of that name; None where the split has none."""
        return next((g.rows for g in self.groups if g.name == group), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every split of one replay.

    Attributes
    ----------
    protocol : str
    splits : tuple of Split
    by_agent : bool
        Whether agents, and not runs, are what a paired comparison may resample.
    """

    protocol: str
    splits: tuple[Split, ...]
    by_agent: bool = False

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups, in order of first appearance."""
        names = [group.name for split in self.splits for group in split.groups]
        return tuple(dict.fromkeys(names))


def _rows(rows: ArrayLike) -> NDArray[np.intp]:
    array = np.array(rows, dtype=np.intp)
    array.setflags(write=False)
    return array
