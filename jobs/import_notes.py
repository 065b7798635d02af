"""What came back of a run, compared with what was asked."""

from dataclasses import replace
from typing import Final

import numpy as np

from jobs.harnesses.selection import safe_name
from recurring_eval.errors import InputError
from recurring_eval.records import FULL_RUN_MIN_VALID, MISSING, Bank, RunKind, RunLog
from storage.history import History
from storage.subsets import find_subset, subset_ids

_SHOWN: Final = 5


def with_whole_subset_id(history: History, log: RunLog) -> RunLog:
    """Spell out a subset's id that a name could only carry with letters replaced."""
    if log.subset_id is None:
        return log
    known = subset_ids(history)
    found = [name for name in known if safe_name(name) == log.subset_id]
    if log.subset_id in known or len(found) != 1:
        return log
    return replace(log, subset_id=found[0])


def selection_notes(history: History, log: RunLog, bank: Bank) -> list[str]:
    """Compare what came back with what was asked.

    Raises
    ------
    InputError
        If the run's subset is unknown or belongs to another benchmark.
    """
    if log.subset_id is None:
        n_valid = len(np.unique(log.question_index[log.outcome != MISSING]))
        if log.kind is not RunKind.FULL or n_valid >= FULL_RUN_MIN_VALID * len(bank.question_ids):
            return []
        return [
            f"run {log.run_key!r} has valid verdicts on {n_valid} of {len(bank.question_ids)} "
            "questions, too few for a full run; if a subset was asked, name it with --subset"
        ]
    found = find_subset(history, log.subset_id)
    if found.benchmark != log.benchmark:
        raise InputError(
            f"subset {log.subset_id!r} belongs to benchmark {found.benchmark!r}, "
            f"but run {log.run_key!r} to {log.benchmark!r}"
        )
    asked = set(found.subset.question_ids)
    answered = {log.question_ids[position] for position in np.unique(log.question_index)}
    notes = []
    for ids, what in ((answered - asked, "outside"), (asked - answered, "not returned of")):
        if ids:
            notes.append(
                f"run {log.run_key!r}: {len(ids)} questions {what} subset {log.subset_id}: "
                + ", ".join(sorted(ids)[:_SHOWN])
                + (", ..." if len(ids) > _SHOWN else "")
            )
    return notes
