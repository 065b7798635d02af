"""What a run that was asked a selection, or came back thin, makes the user wonder about."""

from typing import Final

import numpy as np

from recurring_eval.errors import InputError
from recurring_eval.records import FULL_RUN_MIN_VALID, MISSING, Bank, RunKind, RunLog
from storage.history import History
from storage.subsets import find_subset

_SHOWN: Final = 5


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
    asked, answered = set(found.subset.question_ids), set(log.question_ids)
    notes = []
    for ids, what in ((answered - asked, "outside"), (asked - answered, "not returned of")):
        if ids:
            notes.append(
                f"run {log.run_key!r}: {len(ids)} questions {what} subset {log.subset_id}: "
                + ", ".join(sorted(ids)[:_SHOWN])
                + (", ..." if len(ids) > _SHOWN else "")
            )
    return notes
