"""Words for what an import contradicts."""

from datetime import datetime
from typing import Final

from recurring_eval.records import FAIL, MISSING, PASS, RunLog
from storage.run_table import FACTS, Fact, StoredRun, facts_of
from storage.verdict_rows import VerdictRows

VERDICT_WORDS: Final = {PASS: "pass", FAIL: "fail", MISSING: "missing"}


def changed_fact(log: RunLog, run: StoredRun) -> str:
    """Name the first fact in which a log contradicts the stored run."""
    pairs = zip(FACTS, run.facts, facts_of(log), strict=True)
    name, old, new = next((name, old, new) for name, old, new in pairs if old != new)
    return (
        f"run {log.run_key} is stored with {name} {_spell(old)}, the log says {_spell(new)}; "
        "give the run another id, or import with --replace to take the log's"
    )


def changed_verdict(run_key: str, question: str, trial: int, old: str, new: str) -> str:
    """Name a stored verdict and the one a log gives in its place."""
    return (
        f"run {run_key}, question {question!r}, trial {trial}: the stored verdict is {old}, "
        f"the log says {new}; import with --replace to take the log's (the old one is kept)"
    )


def verdict_text(rows: VerdictRows, row: int) -> str:
    """Spell one verdict, with its reason if it is missing."""
    word = VERDICT_WORDS[int(rows.outcome[row])]
    return f"{word} ({rows.reason[row]})" if rows.reason[row] else word


def _spell(fact: Fact) -> str:
    if isinstance(fact, datetime):
        return fact.isoformat()
    return "none" if fact is None else repr(fact)
