"""Tables to read in tests."""

from pathlib import Path
from typing import Any

from jobs.harnesses.harness import LogFile, ReadOptions
from jobs.harnesses.log_files import LogUnit
from jobs.harnesses.table.long_table import LONG_TABLE
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.records import FAIL, MISSING, PASS, RunLog

WORDS = {PASS: "pass", FAIL: "fail", MISSING: "missing"}


def read(path: Path, *, threshold: float | None = None, **options: str) -> LogFile:
    unit = LogUnit(path=path, files=(path,))
    return LONG_TABLE.read(unit, ReadOptions(given=VerdictRule(threshold=threshold), **options))


def read_text(folder: Path, text: str, name: str = "t.csv", **options: Any) -> LogFile:
    path = folder / name
    path.write_bytes(text.encode())
    return read(path, **options)


def verdicts(log: RunLog) -> list[tuple[str, int, str]]:
    """Question, trial and verdict of each row of a run."""
    return [
        (log.question_ids[q], int(trial), WORDS[int(outcome)])
        for q, trial, outcome in zip(log.question_index, log.trial, log.outcome, strict=True)
    ]


def by_question(file: LogFile) -> dict[str, str]:
    """Verdict by question of a file with one run and one trial."""
    (run,) = file.runs
    return {question: word for question, _, word in verdicts(run)}


def reasons(log: RunLog) -> dict[str, str]:
    """Reason by question of the missing verdicts."""
    return {
        log.question_ids[q]: log.reasons[reason]
        for q, reason in zip(log.question_index, log.reason_index, strict=True)
        if reason >= 0
    }
