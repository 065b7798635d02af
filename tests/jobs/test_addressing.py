"""One place decides where the runs of a log belong."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobs.app.config import Settings
from jobs.harnesses.harness import LogFile
from jobs.harnesses.run_builder import LoggedVerdict, build_run
from jobs.importing.addressing import Addressed, Addressing
from jobs.importing.sources import Source
from recurring_eval.errors import InputError
from recurring_eval.records import PASS, RunLog

SUBSET = "both-k2-0123abcd"
ANSWERS = {("both", "tool"): {"task": "one", "task:two": ""}}
ADDRESSING = Addressing(
    known=("both", "other"),
    settings=Settings(),
    answers=ANSWERS,
    subset_benchmarks={SUBSET: "both", "a b-k2-0123abcd": "other"},
    task_benchmarks={("tool", "one"): "both", ("tool", "two"): "both"},
)


def run_of(task: str | None, *questions: str, run_key: str = "r", subset: str = "") -> RunLog:
    return build_run(
        [LoggedVerdict(question=question, outcome=PASS) for question in questions],
        run_key=run_key,
        task=task,
        agent="a",
        harness="tool",
        started_at=datetime(2026, 11, 29, tzinfo=UTC),
        subset_id=subset or None,
    )


def place(addressing: Addressing, *runs: RunLog, has_tasks: bool = True) -> Addressed:
    path = Path("log")
    log = LogFile(runs=runs, has_tasks=has_tasks, locators={"two": {"q": "at 7"}})
    (item,) = addressing.place([Source(path=path, files=(path,), harness="tool", log=log)])
    return item


def test_tasks_of_a_benchmark_are_one_run_whose_other_tasks_go_before_the_ids() -> None:
    item = place(ADDRESSING, run_of("one", "q"), run_of("two", "q", "p"))
    (log,) = item.logs
    assert log.benchmark == "both"
    assert log.question_ids == ("q", "two/q", "two/p")
    assert item.questions == {"both": {"q", "two/q", "two/p"}}
    assert item.locators == {"both": {"two/q": "at 7"}}
    assert item.homes == {"both": "one"}
    assert item.tasks == {"both": ("one", "two")}


def test_a_log_of_the_other_task_alone_has_the_same_keys() -> None:
    (log,) = place(ADDRESSING, run_of("two", "q")).logs
    assert log.question_ids == ("two/q",)


def test_the_first_task_of_a_new_benchmark_has_bare_ids() -> None:
    new = replace(ADDRESSING, answers={}, task_benchmarks={}, create=True)
    item = place(new, run_of("three", "q"))
    assert item.logs[0].question_ids == ("q",)
    assert item.homes == {"three": "three"}


def test_a_run_that_names_no_task_has_bare_ids_and_decides_nothing() -> None:
    item = place(replace(ADDRESSING, benchmark="other"), run_of(None, "q"))
    assert item.refusal is None
    assert item.logs[0].question_ids == ("q",)
    assert item.homes == {}


@pytest.mark.parametrize("named", [SUBSET, "a_b-k2-0123abcd"])
def test_a_subset_names_its_benchmark(named: str) -> None:
    (log,) = place(ADDRESSING, run_of(None, "q", subset=named), has_tasks=False).logs
    assert (log.benchmark, log.subset_id) == (
        ("both", SUBSET) if named == SUBSET else ("other", "a b-k2-0123abcd")
    )


def test_what_cannot_be_placed_is_refused() -> None:
    assert "unknown benchmark 'none'" in str(
        place(ADDRESSING, run_of("none", "q"), has_tasks=False).refusal
    )
    assert "names no benchmark" in str(place(ADDRESSING, run_of(None, "q")).refusal)
    parts = (run_of("one", "q"), run_of("two", "q", subset=SUBSET))
    assert "several subsets" in str(place(ADDRESSING, *parts).refusal)
    several = (run_of("other", "q"), run_of("both", "q", run_key="s"))
    given = replace(ADDRESSING, benchmark="both")
    assert "several benchmarks" in str(place(given, *several, has_tasks=False).refusal)
    with pytest.raises(InputError, match="several benchmarks"):
        given.address(several)
