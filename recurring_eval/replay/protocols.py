"""Protocols: how the runs of a replay are divided into calibrating and tested ones.

Rows are given in time order, or in the order of the file where no times are known.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.replay.splits import EVERYONE, CalibrationSpan, Fold, Plan, Split

FOLDS: Final = "folds"
CHRONOLOGICAL: Final = "chronological"
TRANSFER: Final = "transfer"
WINDOW: Final = "window"
PROTOCOLS: Final = (FOLDS, CHRONOLOGICAL, TRANSFER, WINDOW)

POOLED: Final = "other families"
"""Group of all tested families of a transfer."""


def folds(
    agents: Sequence[str], *, n_folds: int = 4, n_splits: int = 6, rng: np.random.Generator
) -> Plan:
    """Divide the agents into folds, each tested on what the others calibrate.

    All runs of an agent are in one fold. Agents are taken in order of their names and
    shuffled by a stream of their own for each split, so an assignment depends on the
    generator and the set of agents alone, and more splits leave the first as they were.

    Parameters
    ----------
    agents : sequence of str
        Agent of each run.
    n_folds, n_splits : int
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If there are fewer than two folds, no split, or fewer agents than folds.
    """
    names = sorted(set(agents))
    if n_folds < 2 or n_splits < 1:
        raise InputError(f"{n_folds} folds and {n_splits} splits; take at least 2 folds, 1 split")
    if len(names) < n_folds:
        raise InputError(
            f"{len(names)} agents cannot be divided into {n_folds} folds; "
            "take fewer folds or --protocol chronological"
        )
    position = {name: i for i, name in enumerate(names)}
    agent = np.array([position[name] for name in agents], dtype=np.intp)
    everyone = {EVERYONE: np.arange(len(agent))}
    splits = []
    for number, stream in enumerate(rng.spawn(n_splits)):
        fold_of_agent = np.empty(len(names), dtype=np.intp)
        for fold, members in enumerate(np.array_split(stream.permutation(len(names)), n_folds)):
            fold_of_agent[members] = fold
        fold_of_run = fold_of_agent[agent]
        splits.append(
            Split(
                number=number,
                folds=tuple(
                    Fold(
                        source=np.flatnonzero(fold_of_run != fold),
                        targets=np.flatnonzero(fold_of_run == fold),
                    )
                    for fold in range(n_folds)
                ),
                groups=everyone,
            )
        )
    return Plan(protocol=FOLDS, splits=tuple(splits), by_agent=True)


def chronological(n_runs: int) -> Plan:
    """Calibrate on the first half of the runs, rounded down, and test the rest.

    Raises
    ------
    NotEnoughDataError
        For fewer than four runs.
    """
    half = first_half(n_runs)
    rows = np.arange(half, n_runs)
    return _one_fold(CHRONOLOGICAL, np.arange(half), {EVERYONE: rows})


def transfer(families: Sequence[str], *, calibrating: str) -> Plan:
    """Calibrate on the earlier half of one family and test the others unchanged.

    The later half of the calibrating family is tested as well, as a group of its own:
    what the others lose against it is what the transfer costs.

    Parameters
    ----------
    families : sequence of str
        Agent family of each run.
    calibrating : str

    Raises
    ------
    InputError
        If there is no such family, or no other.
    NotEnoughDataError
        If the family has fewer than four runs.
    """
    family = np.array(families, dtype=object)
    names = sorted(set(families))
    if calibrating not in names:
        raise InputError(f"no runs of agent family {calibrating!r}; known: {', '.join(names)}")
    others = [name for name in names if name != calibrating]
    if not others:
        raise InputError(
            f"all runs are of agent family {calibrating!r}; a transfer needs runs of another"
        )
    own = np.flatnonzero(family == calibrating)
    half = first_half(len(own))
    groups = {POOLED: np.flatnonzero(family != calibrating)}
    if len(others) > 1:
        groups |= {name: np.flatnonzero(family == name) for name in others}
    groups[f"{calibrating} (later half)"] = own[half:]
    return _one_fold(TRANSFER, own[:half], groups)


def window(n_runs: int, spans: Sequence[CalibrationSpan]) -> Plan:
    """Test the second half on ever shorter windows that end where the first half ends.

    Parameters
    ----------
    n_runs : int
    spans : sequence of CalibrationSpan
        As `calibration_spans` gives them for the first half.

    Raises
    ------
    NotEnoughDataError
        For fewer than four runs or without a window of two.
    """
    half = first_half(n_runs)
    targets = np.arange(half, n_runs)
    usable = [span for span in spans if span.n_runs >= 2]
    if not usable:
        raise NotEnoughDataError("no calibration window holds two runs; give longer --windows")
    return Plan(
        protocol=WINDOW,
        splits=tuple(
            Split(
                number=number,
                folds=(Fold(source=np.arange(half - span.n_runs, half), targets=targets),),
                groups={span.name: targets},
            )
            for number, span in enumerate(usable)
        ),
    )


def first_half(n_runs: int) -> int:
    """Count the calibrating runs: half of all, rounded down.

    Raises
    ------
    NotEnoughDataError
        For fewer than four runs.
    """
    if n_runs < 4:
        raise NotEnoughDataError(
            f"{n_runs} usable full runs are too few to replay; it takes at least 4"
        )
    return n_runs // 2


def _one_fold(
    protocol: str, source: NDArray[np.intp], groups: Mapping[str, NDArray[np.intp]]
) -> Plan:
    targets = np.unique(np.concatenate(list(groups.values())))
    fold = Fold(source=source, targets=targets)
    return Plan(protocol=protocol, splits=(Split(number=0, folds=(fold,), groups=groups),))
