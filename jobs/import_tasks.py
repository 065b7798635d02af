"""Keys of questions where one benchmark gathers several tasks of a tool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from jobs.import_rules import HOME_TASK, OTHER_TASK
from jobs.import_sources import Source
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from storage.history import History
from storage.verdict_rules import store_answers

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
