"""Verdict rules an import goes by: given now, or remembered for the benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.verdict_rule import VerdictRule
from jobs.importing.sources import Source
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from storage.file.history import History
from storage.runs.imports import store_answers, stored_answers

HOME_TASK: Final = "task"
OTHER_TASK: Final = "task:"

SCOPE: Final = "@"
"""Between the field of an answer and the task it is for."""

_COUNT: Final = "count:"
_TEXTS: Final = ("verdict", "filter", "question")


def with_stored_rules(
    history: History, options: ReadOptions, *, benchmark: str | None, only: str | None
) -> ReadOptions:
    """Complete the options with what the history remembers."""
    stored = {
        (*place, task): _rule_of(answers, task)
        for place, answers in stored_answers(history).items()
        for task in sorted({field.partition(SCOPE)[2] for field in answers})
        if not _rule_of(answers, task).is_empty
    }
    return replace(
        options,
        stored=stored,
        benchmark=benchmark,
        only_benchmark=only,
        task_benchmarks=task_benchmarks(history),
    )


def task_benchmarks(history: History) -> dict[tuple[str, str], str]:
    """Find the benchmark of another name that each (harness, task) belongs to, where it is one."""
    known = stored_answers(history)
    found: dict[tuple[str, str], set[str]] = {}
    for (benchmark, harness), answers in known.items():
        home, others = tasks_of(answers)
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


Place = tuple[str, str]
"""Benchmark and harness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """A source whose runs have their benchmark.

    Attributes
    ----------
    source : Source
        `logs` have the keys of the benchmark; `locators` are by benchmark.
    tasks : tuple of str or None
        Task of each log, before runs were joined.
    benchmarks : tuple of str
        Benchmark of each log, aligned with `tasks`.
    """

    source: Source
    tasks: tuple[str | None, ...] = ()
    benchmarks: tuple[str, ...] = ()

    def tasks_in(self, benchmark: str) -> list[str | None]:
        """Distinct tasks of the logs of a benchmark."""
        pairs = zip(self.tasks, self.benchmarks, strict=True)
        return list(dict.fromkeys(task for task, found in pairs if found == benchmark))


def home_tasks(
    addressed: Sequence[Addressed], answers: Mapping[Place, Mapping[str, str]]
) -> dict[Place, str]:
    """Task whose ids are bare in each benchmark: the stored one, else the only one.

    An empty name stands for none.
    """
    met: dict[Place, set[str]] = {}
    for item in addressed:
        if item.source.has_tasks:
            for log, task in zip(item.source.logs, item.tasks, strict=True):
                if task is not None:
                    met.setdefault((str(log.benchmark), item.source.harness), set()).add(task)
    homes = {}
    for place, tasks in met.items():
        stored = answers.get(place, {})
        homes[place] = stored.get(HOME_TASK, min(tasks) if len(tasks) == 1 else "")
    return homes


def with_task_keys(item: Addressed, homes: Mapping[Place, str]) -> Source:
    """Key the questions of a source by task where the benchmark has several."""
    source = item.source
    if not source.has_tasks:
        locators = {
            str(log.benchmark): source.locators.get(task or "", {})
            for log, task in zip(source.logs, item.tasks, strict=True)
        }
        return replace(source, locators=locators)
    logs: list[RunLog] = []
    located: dict[str, dict[str, str]] = {}
    for log, task in zip(source.logs, item.tasks, strict=True):
        benchmark = str(log.benchmark)
        is_bare = task is None or homes[benchmark, source.harness] == task
        prefix = "" if is_bare else f"{task}/"
        logs.append(replace(log, question_ids=tuple(f"{prefix}{key}" for key in log.question_ids)))
        located.setdefault(benchmark, {}).update(
            (f"{prefix}{key}", locator)
            for key, locator in source.locators.get(task or "", {}).items()
        )
    try:
        return replace(source, logs=_joined(logs), locators=located)
    except InputError as error:
        return replace(source, logs=(), refusal=str(error))


def remember_tasks(
    history: History, item: Addressed, homes: Mapping[Place, str], *, now: datetime
) -> None:
    """Store which task's ids are bare, and which follow their task's name."""
    if not item.source.has_tasks:
        return
    for benchmark in dict.fromkeys(item.benchmarks):
        home = homes[benchmark, item.source.harness]
        met = {task for task in item.tasks_in(benchmark) if task not in (None, home)}
        answers = {HOME_TASK: home} | {f"{OTHER_TASK}{task}": "" for task in met}
        store_answers(history, benchmark, item.source.harness, answers, now=now)


def _joined(logs: Sequence[RunLog]) -> tuple[RunLog, ...]:
    """One log per run of each benchmark, of the parts its tasks are."""
    parts: dict[tuple[str | None, str], list[RunLog]] = {}
    for log in logs:
        parts.setdefault((log.benchmark, log.run_key), []).append(log)
    return tuple(found[0] if len(found) == 1 else _join(found) for found in parts.values())


def _join(parts: Sequence[RunLog]) -> RunLog:
    subsets = {part.subset_id for part in parts}
    if len(subsets) > 1:
        raise InputError(f"run {parts[0].run_key!r} is marked with several subsets")
    reasons = tuple(dict.fromkeys(reason for part in parts for reason in part.reasons))
    question_ids = tuple(key for part in parts for key in part.question_ids)
    offsets = np.cumsum([0, *(len(part.question_ids) for part in parts)])
    ends = [part.finished_at for part in parts if part.finished_at is not None]
    index = [
        np.where(
            part.reason_index < 0,
            -1,
            np.array([*map(reasons.index, part.reasons), -1])[part.reason_index],
        )
        for part in parts
    ]
    return replace(
        parts[0],
        started_at=min(part.started_at for part in parts),
        finished_at=max(ends, default=None),
        question_ids=question_ids,
        content_hashes=tuple(text for part in parts for text in part.content_hashes),
        question_index=np.concatenate(
            [part.question_index + offset for part, offset in zip(parts, offsets, strict=False)]
        ).astype(np.int32),
        trial=np.concatenate([part.trial for part in parts]),
        outcome=np.concatenate([part.outcome for part in parts]),
        reasons=reasons,
        reason_index=np.concatenate(index).astype(np.int16),
        duration_s=np.concatenate([part.duration_s for part in parts]),
        cost=np.concatenate([part.cost for part in parts]),
    )
