"""Where the runs of a log belong: benchmark, purpose, family, subset, and keys of questions.

Whoever reads a log, be it to import it, to estimate its run or to answer a session, asks
`Addressing`, so that a run is the same one everywhere.
"""

import difflib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from jobs.app.config import Settings
from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.selection import safe_name
from jobs.importing.rules import HOME_TASK, StoredAnswers, stored_rules, task_benchmarks
from jobs.importing.sources import Source
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog, RunPurpose
from storage.calibrations.subsets import subset_benchmarks
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names
from storage.runs.imports import stored_answers

_SHOWN: Final = 5
_SUBSET_TAG: Final = "subset:"
_SESSION_TAG: Final = "session:"
_DEFAULT_FAMILY: Final = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressed:
    """A log whose runs have their place in the history.

    Attributes
    ----------
    source : Source
        The log as read.
    refusal : str or None
        Why nothing of it is imported.
    logs : tuple of RunLog
        One per run of a benchmark, with the benchmark's keys of questions; empty if the log
        is refused, known or large.
    questions : mapping of str to frozenset of str
        Questions by benchmark.
    locators : mapping of str to mapping of str to str
        As `LogFile.locators`, by benchmark.
    tasks : mapping of str to tuple of (str or None)
        Distinct tasks of the runs by benchmark.
    homes : mapping of str to str
        Benchmark -> the task whose ids are bare, empty for none; of logs with tasks alone.
    """

    source: Source
    refusal: str | None = None
    logs: tuple[RunLog, ...] = ()
    questions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    locators: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tasks: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    homes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressing:
    """What decides where runs belong; it is read from a history and outlives it.

    Attributes
    ----------
    known : tuple of str
        Benchmarks of the history.
    settings : Settings
    answers : mapping
        What the history remembers of benchmarks and tools, see `stored_answers`.
    subset_benchmarks : mapping of str to str
        Benchmark of each subset that was handed out: a run of one needs no other name.
    task_benchmarks : mapping of (str, str) to str
        See `ReadOptions`.
    benchmark, subset_id : str or None
    purpose : RunPurpose or None
        Given on the command line; these win over the logs.
    create : bool
        Whether any new benchmark may be made.
    """

    known: tuple[str, ...]
    settings: Settings
    answers: StoredAnswers
    subset_benchmarks: Mapping[str, str]
    task_benchmarks: Mapping[tuple[str, str], str]
    benchmark: str | None = None
    subset_id: str | None = None
    purpose: RunPurpose | None = None
    create: bool = False

    @classmethod
    def load(
        cls,
        history: History,
        settings: Settings,
        *,
        benchmark: str | None = None,
        subset_id: str | None = None,
        purpose: RunPurpose | None = None,
        create: bool = False,
    ) -> Self:
        """Read what the history knows."""
        answers = stored_answers(history)
        return cls(
            known=tuple(benchmark_names(history)),
            settings=settings,
            answers=answers,
            subset_benchmarks=subset_benchmarks(history),
            task_benchmarks=task_benchmarks(answers),
            benchmark=benchmark,
            subset_id=subset_id,
            purpose=purpose,
            create=create,
        )

    def read_options(self, given: ReadOptions) -> ReadOptions:
        """Complete how logs are read with what the history remembers."""
        candidates = self._candidates()
        return replace(
            given,
            stored=stored_rules(self.answers),
            benchmark=self.benchmark,
            only_benchmark=candidates[0] if len(candidates) == 1 else None,
            task_benchmarks=self.task_benchmarks,
        )

    def place(self, sources: Iterable[Source]) -> list[Addressed]:
        """Address the logs of an import.

        Which task's ids are bare in a benchmark depends on all of them. A log whose runs
        belong nowhere is refused.
        """
        items = [self._addressed(source) for source in sources]
        met: dict[tuple[str, str], set[str]] = {}
        for item in items:
            for benchmark, tasks in item.tasks.items() if item.source.log.has_tasks else ():
                named = {task for task in tasks if task is not None}
                if named:
                    met.setdefault((benchmark, item.source.harness), set()).update(named)
        homes = {}
        for place, tasks_met in met.items():
            only = min(tasks_met) if len(tasks_met) == 1 else ""
            homes[place] = self.answers.get(place, {}).get(HOME_TASK, only)
        return [_keyed(item, homes) for item in items]

    def address(self, logs: Sequence[RunLog], *, has_tasks: bool = False) -> tuple[RunLog, ...]:
        """Complete the logs of one file.

        Parameters
        ----------
        logs : sequence of RunLog
        has_tasks : bool
            Whether the benchmarks they name are tasks, which may be gathered in one.

        Raises
        ------
        InputError
            If a benchmark is unknown, ambiguous or not named at all.
        """
        if not has_tasks:
            self._require_one({log.benchmark for log in logs})
        return tuple(self._address(log, is_task=has_tasks) for log in logs)

    def benchmark_of(self, log: RunLog, *, is_task: bool) -> str | None:
        """Benchmark that a run belongs to, whether or not there is one; None if nothing names it.

        Parameters
        ----------
        log : RunLog
        is_task : bool
            Whether `log.benchmark` is a tool's task, which need not be the benchmark's name.
        """
        implied = self.subset_benchmarks.get(self._subset_of(log) or "")
        named = log.benchmark
        if is_task and named is not None:
            named = implied or self.task_benchmarks.get((log.harness, named), named)
        return self.benchmark or named or implied

    def _addressed(self, source: Source) -> Addressed:
        try:
            if source.large is not None:
                questions = self._address_questions(source.large.questions)
                return Addressed(source=source, refusal=source.refusal, questions=questions)
            logs = self.address(source.log.runs, has_tasks=source.log.has_tasks)
        except InputError as error:
            return Addressed(source=source, refusal=str(error))
        tasks: dict[str, dict[str | None, None]] = {}
        for log, run in zip(logs, source.log.runs, strict=True):
            tasks.setdefault(str(log.benchmark), {}).setdefault(run.benchmark)
        return Addressed(
            source=source,
            refusal=source.refusal,
            logs=logs,
            tasks={benchmark: tuple(met) for benchmark, met in tasks.items()},
        )

    def _address_questions(
        self, questions: Mapping[str | None, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Gather the questions of a large log by the benchmark its runs belong to."""
        self._require_one(questions)
        addressed: dict[str, frozenset[str]] = {}
        for named, ids in questions.items():
            implied = self.subset_benchmarks.get(self.subset_id or "")
            benchmark = self._existing(self.benchmark or named or implied)
            addressed[benchmark] = addressed.get(benchmark, frozenset()) | ids
        return addressed

    def _require_one(self, named: Iterable[str | None]) -> None:
        names = sorted({name for name in named if name is not None})
        if self.benchmark is not None and len(names) > 1:
            raise InputError(
                f"has several benchmarks, {listed(names)}; leave out --benchmark, or split the file"
            )

    def _address(self, log: RunLog, *, is_task: bool) -> RunLog:
        benchmark = self._existing(self.benchmark_of(log, is_task=is_task))
        purpose, family = self.settings.rule_for(
            benchmark=benchmark, agent=log.agent, tags=log.tags
        )
        # A log that names a purpose or family itself wins over the rules.
        if log.purpose is not RunPurpose.ROUTINE:
            purpose = log.purpose
        if log.agent_family != _DEFAULT_FAMILY:
            family = log.agent_family
        return replace(
            log,
            benchmark=benchmark,
            purpose=self.purpose or purpose or RunPurpose.ROUTINE,
            agent_family=family or _DEFAULT_FAMILY,
            subset_id=self._subset_of(log),
            session_id=log.session_id or _tagged(log.tags, _SESSION_TAG),
        )

    def _subset_of(self, log: RunLog) -> str | None:
        """Subset that a run was asked: the one given, else what its log or tags say.

        A name of a run or file may carry the `safe_name` of a subset.
        """
        known = self.subset_benchmarks
        found = self.subset_id or log.subset_id or _tagged(log.tags, _SUBSET_TAG)
        if found is None or found in known:
            return found
        spelled = [name for name in known if safe_name(name) == found]
        return spelled[0] if len(spelled) == 1 else found

    def _candidates(self) -> tuple[str, ...]:
        return self.known or tuple(self.settings.benchmark)

    def _existing(self, name: str | None) -> str:
        """Benchmark of that name, or the only one; refused if it is unknown and may not be made."""
        if name is None:
            candidates = self._candidates()
            if len(candidates) > 1 or not candidates:
                known = f"; known are {listed(self.known)}" if self.known else ""
                raise InputError(f"names no benchmark; give it with --benchmark NAME{known}")
            name = candidates[0]
        if not self.known or name in self.known or name in self.settings.benchmark or self.create:
            return name
        near = difflib.get_close_matches(name, self.known, n=1)
        advice = f"is {near[0]!r} meant? --create makes" if near else "--create makes"
        raise InputError(
            f"unknown benchmark {name!r}; known are {listed(self.known)}; {advice} a new one"
        )


def _keyed(item: Addressed, homes: Mapping[tuple[str, str], str]) -> Addressed:
    """Key the questions by task where a benchmark has several, and join the parts of runs."""
    if item.refusal is not None or not item.logs:
        return item
    source = item.source
    logs: list[RunLog] = []
    locators: dict[str, dict[str, str]] = {}
    own_homes: dict[str, str] = {}
    for log, run in zip(item.logs, source.log.runs, strict=True):
        benchmark, task, prefix = str(log.benchmark), run.benchmark, ""
        if source.log.has_tasks and task is not None:
            own_homes[benchmark] = homes[benchmark, source.harness]
            prefix = "" if task == own_homes[benchmark] else f"{task}/"
        if prefix:
            keys = tuple(f"{prefix}{key}" for key in log.question_ids)
            log = replace(log, question_ids=keys)  # the same log from here on
        logs.append(log)
        found = source.log.locators.get(task or "", {})
        located = {f"{prefix}{key}": locator for key, locator in found.items()}
        locators.setdefault(benchmark, {}).update(located)
    try:
        joined = _joined(logs) if source.log.has_tasks else tuple(logs)
    except InputError as error:
        return replace(item, logs=(), refusal=str(error))
    questions: dict[str, set[str]] = {}
    for log in joined:
        questions.setdefault(str(log.benchmark), set()).update(log.question_ids)
    return replace(
        item,
        logs=joined,
        questions={benchmark: frozenset(ids) for benchmark, ids in questions.items()},
        locators=locators,
        homes=own_homes,
    )


def _joined(logs: Sequence[RunLog]) -> tuple[RunLog, ...]:
    """One log per run of each benchmark, of the parts its tasks are."""
    parts: dict[tuple[str | None, str], list[RunLog]] = {}
    for log in logs:
        parts.setdefault((log.benchmark, log.run_key), []).append(log)
    return tuple(functools.reduce(RunLog.joined, found) for found in parts.values())


def all_questions(items: Iterable[Addressed]) -> dict[str, frozenset[str]]:
    """Questions of all addressed logs, by benchmark."""
    questions: dict[str, frozenset[str]] = {}
    for item in items:
        for benchmark, ids in item.questions.items():
            questions[benchmark] = questions.get(benchmark, frozenset()) | ids
    return questions


def _tagged(tags: Sequence[str], prefix: str) -> str | None:
    return next((tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)), None)


def listed(names: Sequence[str]) -> str:
    """First few of the names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
