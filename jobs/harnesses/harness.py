"""What a reader of an evaluation tool's logs is, and how to add one.

One file per tool, or a folder, with a `Harness` of its functions at the end, and one line
in `registry.HARNESSES`. A reader does four things.

1. `find` recognises the tool's logs among the files of an import, by content:
   `Peek` shows the head, the outermost JSON keys or the whole small document.
   A name only helps to claim a file too damaged to be recognised, so that it is
   refused and named rather than passed over. It groups files that are one log
   into a `LogUnit` (a folder of trials, a result with its samples); a file of the
   tool that is no log is claimed with `not_a_log` saying what it is.
2. `read` turns a unit into runs with `build_run`. The question's key comes from
   `question_key`; the verdict is PASS, FAIL or MISSING with `missing_reason`,
   and an error is never a fail. Where the log leaves open what a pass is, ask
   `options.rule(harness, task)` and `choose` or `score_outcome`, which refuse with the
   choices listed. What only the tool's own policy decides has a state name and
   `rule.count("empty-patch", MISSING)`. Read summaries, never transcripts, and
   stream what can be large. Wrong input is an `InputError` of one line without the
   file's name; nothing else may escape, however damaged the file is.
3. `selection` phrases questions back in the tool's own form (a command line, a
   file, a configuration), literal-safe, and marked with `context.mark` (tags) or
   `context.label` (names), which `read` finds again with `subset_marked`. What the
   tool cannot express is an `InputError`, or is given in a safe form with a note.
4. `LogFile` says what the history must know beyond the runs: `has_tasks` where ids
   are unique within a task only; `decided` where the log itself names what decides;
   `lineages` where a retry goes on with an earlier run; `locators` where the tool
   calls a question by something else than its key (a position, a node id), which
   `selection` gets back.

Tests: a sample of the tool through the command line (tests/jobs/harnesses/test_tool_samples.py),
small made logs, damage (test_damage.py), and the tool itself (tests/roundtrip/).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.selection import Selection, SelectionContext
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.records import RunLog


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How to read what a log leaves open.

    Attributes
    ----------
    agent : str or None
        Agent of every run, in place of the log's own.
    timezone : str or None
        IANA name of the zone of times written without one; without it they are UTC.
    given : VerdictRule
        Answers on the command line.
    given_by_task : mapping of str to VerdictRule
        Answers on the command line for one task alone, which win.
    stored : mapping of (str, str, str) to VerdictRule
        (benchmark, harness, task or empty) -> answers the history remembers.
    benchmark : str or None
        Benchmark that every run belongs to, whatever its log says.
    only_benchmark : str or None
        Benchmark of runs whose log names none.
    task_benchmarks : mapping of (str, str) to str
        (harness, task) -> the benchmark of another name that a task's runs were imported into.
    without_verdicts : bool
        Whether tables may have runs without any valid verdict: all of a session's first
        questions may time out.
    """

    agent: str | None = None
    timezone: str | None = None
    given: VerdictRule = field(default_factory=VerdictRule)
    given_by_task: Mapping[str, VerdictRule] = field(default_factory=dict)
    stored: Mapping[tuple[str, str, str], VerdictRule] = field(default_factory=dict)
    benchmark: str | None = None
    only_benchmark: str | None = None
    task_benchmarks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    without_verdicts: bool = False

    def rule(self, harness: str, task: str | None) -> VerdictRule:
        """Answers in use for a task of a tool: the command line's over the history's."""
        usual = self.task_benchmarks.get((harness, task or ""), task)
        benchmark = self.benchmark or usual or self.only_benchmark or ""
        rule = self.given_for(task)
        for scope in (task or "", ""):
            rule = rule.over(self.stored.get((benchmark, harness, scope), VerdictRule()))
        return rule

    def given_for(self, task: str | None) -> VerdictRule:
        """Answers of the command line for a task."""
        return self.given_by_task.get(task or "", VerdictRule()).over(self.given)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """What one log holds.

    Attributes
    ----------
    runs : tuple of RunLog
        At least one. `benchmark` is the tool's own task; a run with several tasks is given as
        one RunLog per task with the same run key.
    notes : tuple of str
        What the reader decided or dropped, one line each.
    partial : str or None
        Why the log does not hold all that was asked, e.g. because the run was killed.
    decided : VerdictRule
        What the log itself answers, e.g. by naming a headline metric; it is remembered for the
        benchmark where nothing else is, so that later logs are read alike.
    has_tasks : bool
        Whether ids are only unique within the task that `RunLog.benchmark` names. Where
        --benchmark gathers several tasks, their keys then become ``task/id``.
    others_failed : bool
        Whether every question of the benchmark that the log does not mention failed.
    lineages : mapping of str to str
        Run key -> identity that a run shares with its retries, which then extend it.
    locators : mapping of str to mapping of str to str
        Task (or empty) -> question key -> what the tool calls it, where that differs.
    """

    runs: tuple[RunLog, ...]
    notes: tuple[str, ...] = ()
    partial: str | None = None
    decided: VerdictRule = field(default_factory=VerdictRule)
    has_tasks: bool = False
    others_failed: bool = False
    lineages: Mapping[str, str] = field(default_factory=dict)
    locators: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


class LargeLog(Protocol):
    """A log of which everything but the verdicts is known, read some runs at a time."""

    @property
    def questions(self) -> Mapping[str | None, frozenset[str]]:
        """Questions by benchmark; None where the log names none."""
        ...

    def read_parts(self, options: ReadOptions, *, harness: str) -> Iterator[LogFile]:
        """Read the runs, each in one part and whole.

        Raises
        ------
        InputError
            As `Harness.read`, when the wrong part is met.
        """
        ...


def _never_large(path: Path) -> None:  # noqa: ARG001  # as the other readers take it
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """Reads the logs of one evaluation tool.

    Attributes
    ----------
    name : str
        Name on the command line.
    find : callable
        Claims the tool's logs among files; never raises. The files are those that other
        tools did not claim, in order of path; neighbours of a file given alone are not
        among them but may be looked up on disk.
    read : callable
        Reads a log; raises an `InputError` on what is wrong and where, without the name of
        the log itself.
    selection : callable or None
        Phrases how to run exactly the given questions; raises an `InputError` where the tool
        cannot, with the reason and what to do instead. None if the tool is not started by
        this program's users, as with tables.
    large : callable
        Survey of a log that is too large for memory, to be called; None for any other log.
        The survey raises as `read` does.
    """

    name: str
    find: Callable[[Sequence[Peek]], Iterable[LogUnit]]
    read: Callable[[LogUnit, ReadOptions], LogFile]
    selection: Callable[[Sequence[str], SelectionContext], Selection] | None = None
    large: Callable[[Path], Callable[[], LargeLog] | None] = _never_large
