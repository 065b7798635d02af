"""One row per run, question and trial."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.table.column import RawTable
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS


def drop_repeated_rows(
    table: RawTable,
    *,
    run: NDArray[np.int32],
    question: NDArray[np.int32],
    trial: NDArray[np.int16],
    outcome: NDArray[np.int8],
    run_names: Sequence[str],
    question_names: Sequence[str],
    has_trials: bool,
) -> tuple[NDArray[np.intp], list[str]]:
    """Order the rows by run, question and trial, without repetitions.

    Of rows that repeat each other the first is kept, a valid verdict before a missing one.

    Returns
    -------
    rows : ndarray of intp
    notes : list of str
        What was dropped.

    Raises
    ------
    InputError
        Naming run, question, trial and both places when a trial both passed and failed.
    """
    order = np.lexsort((outcome == MISSING, trial, question, run))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = False
    for values in (run, question, trial):
        ordered = values[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    if first.all():
        return order, []
    group = np.cumsum(first) - 1
    ordered_outcome = outcome[order]
    passes = np.bincount(group, weights=ordered_outcome == PASS) > 0
    fails = np.bincount(group, weights=ordered_outcome == FAIL) > 0
    if (passes & fails).any():
        members = order[group == np.flatnonzero(passes & fails)[0]]
        row = members[0]
        places = {word: members[outcome[members] == word].min() for word in (PASS, FAIL)}
        advice = "" if has_trials else ", or number them in a column `trial`"
        raise InputError(
            f"run {run_names[run[row]]!r}, question {question_names[question[row]]!r}, "
            f"trial {trial[row]} passed in {table.place(int(places[PASS]))} and failed in "
            f"{table.place(int(places[FAIL]))}; keep one of the two{advice}"
        )
    kept = order[first]
    retried = int(((ordered_outcome == MISSING) & ~first & (passes | fails)[group]).sum())
    repeated = len(order) - len(kept) - retried
    notes = []
    if repeated:
        notes.append(f"rows dropped because they repeat another: {repeated}")
    if retried:
        notes.append(f"missing verdicts dropped because the same trial has a valid one: {retried}")
    return kept, notes
