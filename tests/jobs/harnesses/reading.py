"""Read made logs with the reader that claims them."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.harnesses.harness import LogFile, ReadOptions
from jobs.harnesses.registry import find_logs
from jobs.harnesses.selection import SelectionContext
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from tests.jobs.harnesses.tables import WORDS

SUBSET = "bench-k2-0123abcd"


def write(path: Path, content: object) -> Path:
    """Write text, or anything else as JSON; a list of lines as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        assert isinstance(content, list)
        path.write_text("".join(json.dumps(line) + "\n" for line in content))
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read_log(path: Path, harness: str, *, timezone: str | None = None, **rule: Any) -> LogFile:
    """Read the one log of a file or folder, which this harness must claim."""
    (found,) = [log for log in find_logs(path, harness="auto") if log.harness is not None]
    assert found.harness is not None
    assert found.harness.name == harness
    return found.harness.read(found.unit, ReadOptions(given=VerdictRule(**rule), timezone=timezone))


def read_run(path: Path, harness: str, **rule: Any) -> RunLog:
    (run,) = read_log(path, harness, **rule).runs
    return run


def words(run: RunLog) -> dict[str, str]:
    """Verdicts by question, those of several trials joined."""
    found: dict[str, list[str]] = {}
    order = sorted(range(len(run.outcome)), key=lambda i: (run.question_index[i], run.trial[i]))
    for i in order:
        question = run.question_ids[run.question_index[i]]
        found.setdefault(question, []).append(WORDS[int(run.outcome[i])])
    return {question: " ".join(told) for question, told in found.items()}


def refusal(path: Path, harness: str, **rule: Any) -> str:
    with pytest.raises(InputError) as refused:
        read_log(path, harness, **rule)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def context(**facts: Any) -> SelectionContext:
    return SelectionContext(**{"benchmark": "bench", "subset_id": SUBSET} | facts)
