"""What came back of a run, compared with what was asked."""

from dataclasses import replace
from typing import Final

import numpy as np

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, FULL_RUN_MIN_VALID, MISSING, Bank, RunKind, RunLog
from storage.history import History
from storage.subsets import find_subset
from storage.write_runs import NOT_RUN

_SHOWN: Final = 5


def with_failed_others(log: RunLog, bank: Bank) -> RunLog:
    """Add a fail for each question of the bank that the log does not mention.

    Raises
    ------
    InputError
        If the bank holds nothing else, so that it cannot be known what failed.
    """
    others = sorted(set(bank.question_ids) - set(log.question_ids))
    if not others:
        raise InputError(
            "names only what was resolved, and the benchmark has no other questions; import a run "
            "that lists every question first"
        )
    n, n_known = len(others), len(log.question_ids)
    return replace(
        log,
        question_ids=(*log.question_ids, *others),
        content_hashes=(*log.content_hashes, *[""] * n),
        question_index=np.concatenate(
            [log.question_index, np.arange(n_known, n_known + n, dtype=np.int32)]
        ),
        trial=np.concatenate([log.trial, np.ones(n, dtype=np.int16)]),
        outcome=np.concatenate([log.outcome, np.full(n, FAIL, dtype=np.int8)]),
        reason_index=np.concatenate([log.reason_index, np.full(n, -1, dtype=np.int16)]),
        duration_s=np.concatenate([log.duration_s, np.full(n, np.nan)]),
        cost=np.concatenate([log.cost, np.full(n, np.nan)]),
    )


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
    not_run = log.reasons.index(NOT_RUN) if NOT_RUN in log.reasons else len(log.reasons)
    was_run = np.unique(log.question_index[log.reason_index != not_run])
    answered = {log.question_ids[position] for position in was_run}
    notes = []
    for ids, what in ((answered - asked, "outside"), (asked - answered, "not returned of")):
        if ids:
            notes.append(
                f"run {log.run_key!r}: {len(ids)} questions {what} subset {log.subset_id}: "
                + ", ".join(sorted(ids)[:_SHOWN])
                + (", ..." if len(ids) > _SHOWN else "")
            )
    return notes
