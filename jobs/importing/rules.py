"""What the history remembers of how a benchmark's logs are read: verdict rules and tasks."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from jobs.harnesses.verdict_rule import VerdictRule
from storage.file.history import History
from storage.runs.imports import store_answers, stored_answers

HOME_TASK: Final = "task"
OTHER_TASK: Final = "task:"

SCOPE: Final = "@"
"""Between the field of an answer and the task it is for."""

StoredAnswers = Mapping[tuple[str, str], Mapping[str, str]]
"""(Benchmark, harness) -> field -> answer, as the history remembers them."""

_COUNT: Final = "count:"
_TEXTS: Final = ("verdict", "filter", "question")


def stored_rules(answers: StoredAnswers) -> dict[tuple[str, str, str], VerdictRule]:
    """Rules that the history remembers by (benchmark, harness, task or empty)."""
    return {
        (*place, task): _rule_of(answered, task)
        for place, answered in answers.items()
        for task in sorted({field.partition(SCOPE)[2] for field in answered})
        if not _rule_of(answered, task).is_empty
    }


def task_benchmarks(answers: StoredAnswers) -> dict[tuple[str, str], str]:
    """Benchmark of another name that each (harness, task) belongs to, where it is one."""
    found: dict[tuple[str, str], set[str]] = {}
    for (benchmark, harness), answered in answers.items():
        home, others = tasks_of(answered)
        for task in (*others, *([] if home is None else [home])):
            found.setdefault((harness, task), set()).add(benchmark)
    return {place: min(names) for place, names in found.items() if len(names) == 1}


def remember_rule(
    history: History,
    benchmark: str,
    harness: str,
    task: str | None,
    rule: VerdictRule,
    *,
    now: datetime,
) -> list[str]:
    """Store the answers of a rule for a task, inside the caller's transaction.

    Returns
    -------
    list of str
        A note for each answer that differs from the one before.
    """
    if rule.is_empty:
        return []
    scope = "" if task is None or task == benchmark else f"{SCOPE}{task}"
    answers = {f"{field}{scope}": answer for field, answer in _answers_of(rule).items()}
    changed = store_answers(history, benchmark, harness, answers, now=now)
    return [
        f"benchmark {benchmark!r} was read with {field} {before!r} until now, from here on with "
        f"{after!r}; stored runs keep their verdicts (import them again with --replace)"
        for field, (before, after) in changed.items()
    ]


def tasks_of(answers: Mapping[str, str]) -> tuple[str | None, tuple[str, ...]]:
    """Task whose ids are bare, if any, and the tasks whose ids follow their name."""
    others = tuple(
        field.removeprefix(OTHER_TASK) for field in answers if field.startswith(OTHER_TASK)
    )
    return answers.get(HOME_TASK) or None, others


def stored_rule(history: History, benchmark: str, harness: str, task: str | None) -> VerdictRule:
    """Rule that the history remembers for a task of a tool."""
    answers = stored_answers(history).get((benchmark, harness), {})
    return _rule_of(answers, task or "").over(_rule_of(answers, ""))


def _rule_of(scoped: Mapping[str, str], task: str) -> VerdictRule:
    """Rule of the answers whose field is about exactly this task."""
    parts = {field.partition(SCOPE): answer for field, answer in scoped.items()}
    answers = {field: answer for (field, _, scope), answer in parts.items() if scope == task}
    threshold = answers.get("threshold")
    return VerdictRule(
        **{name: answers.get(name) for name in _TEXTS},
        threshold=None if threshold is None else float(threshold),
        counts={
            field.removeprefix(_COUNT): answer
            for field, answer in answers.items()
            if field.startswith(_COUNT)
        },
    )


def _answers_of(rule: VerdictRule) -> dict[str, str]:
    answers = {name: getattr(rule, name) for name in _TEXTS}
    if rule.threshold is not None:
        answers["threshold"] = repr(rule.threshold)
    answers |= {f"{_COUNT}{state}": answer for state, answer in rule.counts.items()}
    return {field: answer for field, answer in answers.items() if answer is not None}


def remember_tasks(
    history: History,
    benchmark: str,
    harness: str,
    tasks: Iterable[str | None],
    *,
    home: str,
    now: datetime,
) -> None:
    """Store which task's ids are bare, and which follow their task's name."""
    others = {f"{OTHER_TASK}{task}": "" for task in tasks if task not in (None, home)}
    store_answers(history, benchmark, harness, {HOME_TASK: home} | others, now=now)
