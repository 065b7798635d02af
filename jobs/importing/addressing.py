"""Where the runs of an import belong: benchmark, bank, purpose, family and selection."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from jobs.app.config import Settings
from jobs.harnesses.selection import safe_name
from recurring_eval.errors import InputError
from recurring_eval.records import Bank, RunLog, RunPurpose
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names, create_benchmark, current_bank, save_bank

_SHOWN: Final = 5
_SUBSET_TAG: Final = "subset:"
_SESSION_TAG: Final = "session:"
_DEFAULT_FAMILY: Final = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressing:
    """How to complete what the logs leave open.

    Attributes
    ----------
    known : tuple of str
        Benchmarks of the history before the import.
    settings : Settings
    benchmark, subset_id : str or None
    purpose : RunPurpose or None
        Given on the command line; these win over the logs.
    subset_benchmarks : mapping of str to str
        Benchmark of each subset that was handed out: a run of one needs no other name.
    create : bool
        Whether any new benchmark may be made.
    task_benchmarks : mapping of (str, str) to str
        See `ReadOptions`.
    """

    known: tuple[str, ...]
    settings: Settings
    benchmark: str | None
    purpose: RunPurpose | None
    subset_id: str | None
    create: bool
    subset_benchmarks: Mapping[str, str] = field(default_factory=dict)
    task_benchmarks: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def address(self, logs: Sequence[RunLog], *, has_tasks: bool = False) -> tuple[RunLog, ...]:
        """Complete the logs of one file.

        Parameters
        ----------
        logs : sequence of RunLog
        has_tasks : bool
            Whether the benchmarks they name may be gathered in one.

        Raises
        ------
        InputError
            If a benchmark is unknown, ambiguous or not named at all.
        """
        if not has_tasks:
            self._require_one({log.benchmark for log in logs})
        return tuple(self._address(log, is_task=has_tasks) for log in logs)

    def address_questions(
        self, questions: Mapping[str | None, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Gather questions by the benchmark their runs belong to.

        Raises
        ------
        InputError
            As `address`.
        """
        self._require_one(questions)
        addressed: dict[str, frozenset[str]] = {}
        for named, ids in questions.items():
            implied = self.subset_benchmarks.get(self.subset_id or "")
            benchmark = self._benchmark(named or implied)
            addressed[benchmark] = addressed.get(benchmark, frozenset()) | ids
        return addressed

    def _require_one(self, named: Iterable[str | None]) -> None:
        names = sorted({name for name in named if name is not None})
        if self.benchmark is not None and len(names) > 1:
            raise InputError(
                f"has several benchmarks, {_listed(names)}; leave out --benchmark, "
                "or split the file"
            )

    def _benchmark(self, named: str | None) -> str:
        return self._allowed(self.benchmark or named or self._only_one())

    def _address(self, log: RunLog, *, is_task: bool) -> RunLog:
        subset_id = asked_subset(log, self.subset_id, self.subset_benchmarks)
        implied = self.subset_benchmarks.get(subset_id or "")
        named = log.benchmark
        if is_task and named is not None:
            # A task is the tool's name, which need not be the benchmark's.
            named = implied or self.task_benchmarks.get((log.harness, named), named)
        benchmark = self._benchmark(named or implied)
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
            subset_id=subset_id,
            session_id=log.session_id or _tagged(log.tags, _SESSION_TAG),
        )

    def _only_one(self) -> str:
        candidates = self.known or tuple(self.settings.benchmark)
        if len(candidates) == 1:
            return candidates[0]
        known = f"; known are {_listed(self.known)}" if self.known else ""
        raise InputError(f"names no benchmark; give it with --benchmark NAME{known}")

    def _allowed(self, name: str) -> str:
        if not self.known or name in self.known or name in self.settings.benchmark or self.create:
            return name
        near = difflib.get_close_matches(name, self.known, n=1)
        advice = f"is {near[0]!r} meant? --create makes" if near else "--create makes"
        raise InputError(
            f"unknown benchmark {name!r}; known are {_listed(self.known)}; {advice} a new one"
        )


def asked_subset(log: RunLog, subset_id: str | None, known: Iterable[str] = ()) -> str | None:
    """Subset that a run was asked: the one given, else what its log or tags say.

    A name of a run or file may carry the `safe_name` of one of the known subsets.
    """
    found = subset_id or log.subset_id or _tagged(log.tags, _SUBSET_TAG)
    if found is None or found in known:
        return found
    spelled = [name for name in known if safe_name(name) == found]
    return spelled[0] if len(spelled) == 1 else found


def prepare_bank(
    history: History,
    benchmark: str,
    *,
    file_questions: frozenset[str],
    import_questions: frozenset[str],
    extend: bool,
    now: datetime,
) -> Bank:
    """Bank that knows every question of a file, inside the caller's transaction.

    The first bank of a benchmark, and with `extend` a new version of it, takes
    the questions of all files of the import.

    Raises
    ------
    InputError
        If the bank lacks questions and may not be extended, listing them.
    """
    if benchmark not in benchmark_names(history):
        create_benchmark(history, benchmark, now=now)
    bank = current_bank(history, benchmark)
    hashes: dict[str, str] = {}
    if bank is not None:
        hashes = dict(zip(bank.question_ids, bank.content_hashes, strict=True))
        unknown = file_questions - hashes.keys()
        if not unknown:
            return bank
        if not extend:
            raise InputError(_unknown(benchmark, unknown, is_all=unknown == file_questions))
    hashes = dict.fromkeys(import_questions, "") | hashes
    ids = tuple(sorted(hashes))
    bank = Bank(
        benchmark=benchmark, question_ids=ids, content_hashes=tuple(hashes[key] for key in ids)
    )
    save_bank(history, bank, now=now)
    return bank


def _unknown(benchmark: str, unknown: frozenset[str], *, is_all: bool) -> str:
    listed = _listed(sorted(unknown))
    if is_all:
        return (
            f"none of the file's {len(unknown)} questions is in benchmark {benchmark!r}: {listed}; "
            "does it belong to another benchmark (--benchmark NAME, a new one with --create)? "
            "If not, --extend-bank adds them"
        )
    return (
        f"benchmark {benchmark!r} lacks {len(unknown)} of the file's questions: {listed}; "
        "--extend-bank adds them"
    )


def questions_by_benchmark(logs: Iterable[RunLog]) -> dict[str, frozenset[str]]:
    """Questions that addressed logs mention."""
    found: dict[str, set[str]] = {}
    for log in logs:
        found.setdefault(str(log.benchmark), set()).update(log.question_ids)
    return {benchmark: frozenset(ids) for benchmark, ids in found.items()}


def _tagged(tags: Sequence[str], prefix: str) -> str | None:
    return next((tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)), None)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
