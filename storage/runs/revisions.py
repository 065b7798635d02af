"""Verdicts that a later import replaced."""

from dataclasses import dataclass
from datetime import datetime

from recurring_eval.records import FAIL, PASS, Run
from storage.file.history import History
from storage.times import from_store

WORDS = {PASS: "pass", FAIL: "fail", None: "missing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRevision:
    """One replaced verdict.

    Attributes
    ----------
    run_key : str
    question_id : str
    trial : int
    revision : int
        Number of the import that replaced it, from 1.
    replaced_at : datetime
    old, new : str
        ``pass``, ``fail`` or ``missing``; what it was and what stands there now.
    old_reason, new_reason : str or None
    """

    run_key: str
    question_id: str
    trial: int
    revision: int
    replaced_at: datetime
    old: str
    old_reason: str | None
    new: str
    new_reason: str | None


def list_revisions(history: History, run: Run) -> list[VerdictRevision]:
    """List the replaced verdicts of a run, by revision, question and trial."""
    rows = history.rows(
        "SELECT q.question_key, o.trial, o.revision, o.replaced_at, o.passed, o.reason,"
        " n.passed, n.reason FROM verdict_revision AS o JOIN question AS q USING (question_id)"
        f" LEFT JOIN {history.verdict_source([run.run_id])} AS n ON n.run_id = o.run_id"
        " AND n.question_id = o.question_id AND n.trial = o.trial"
        " WHERE o.run_id = ? ORDER BY o.revision, q.question_key, o.trial",
        [run.run_id],
    )
    return [
        VerdictRevision(
            run_key=run.run_key,
            question_id=key,
            trial=trial,
            revision=revision,
            replaced_at=from_store(replaced_at),
            old=WORDS[old],
            old_reason=old_reason,
            new=WORDS[new],
            new_reason=new_reason,
        )
        for key, trial, revision, replaced_at, old, old_reason, new, new_reason in rows
    ]
