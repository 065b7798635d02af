"""What imports of evaluation tools' logs leave for the next one."""

import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, PASS
from storage.file.history import History
from storage.runs.imports import (
    continue_run,
    lineage_run,
    load_locators,
    save_lineage,
    save_locators,
    store_answers,
    stored_answers,
)
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, START, days, log


def test_answers_are_kept_by_benchmark_and_tool(history: History) -> None:
    assert stored_answers(history) == {}
    with history.transaction():
        answers = {"verdict": "a", "threshold": "1"}
        assert store_answers(history, BENCHMARK, "inspect", answers, now=NOW) == {}
        assert store_answers(history, BENCHMARK, "other", {"verdict": "z"}, now=NOW) == {}
        changed = store_answers(history, BENCHMARK, "inspect", {"verdict": "b"}, now=NOW)
    assert changed == {"verdict": ("a", "b")}
    assert stored_answers(history) == {
        (BENCHMARK, "inspect"): {"threshold": "1", "verdict": "b"},
        (BENCHMARK, "other"): {"verdict": "z"},
    }


def test_later_logs_decide_where_a_question_is(history: History) -> None:
    def save(locators: dict[str, str], day: int) -> None:
        with history.transaction():
            save_locators(history, BENCHMARK, "t", locators, logged_at=START + days(day))

    save({"q00": "1", "q01": "2"}, 1)
    save({"q01": "20", "q02": "30"}, 3)
    save({"q00": "100", "q01": "200"}, 2)
    assert load_locators(history, BENCHMARK, "t") == {"q00": "100", "q01": "20", "q02": "30"}
    assert load_locators(history, BENCHMARK, "other") == {}


def test_a_lineage_keeps_the_run_it_began_with(history: History) -> None:
    with history.transaction():
        save_lineage(history, BENCHMARK, "l", "first")
        save_lineage(history, BENCHMARK, "l", "second")
    assert lineage_run(history, BENCHMARK, "l") == "first"
    assert lineage_run(history, BENCHMARK, "other") is None


def test_a_retry_fills_what_is_missing_and_changes_nothing(history: History) -> None:
    first = log("first", {"q00": PASS, "q01": "error: x", "q02": "not run", "q03": FAIL})
    with history.transaction():
        write_runs(history, BENCHMARK, [first], imported_at=NOW)
    retry = log(
        "second",
        {"q00": "error: y", "q01": FAIL, "q02": "not run", "q04": PASS},
        started_at=START + days(2),
        agent="another",
    )
    found = continue_run(history, BENCHMARK, retry, "first")
    assert (found.run_key, found.started_at, found.agent) == ("first", START, "coder")
    kept = [found.question_ids[index] for index in found.question_index]
    assert kept == ["q01", "q04"]
    for changed in ({"q03": PASS}, {"q00": "invalidated"}, {"q00": "timeout: limit"}):
        other = log("second", changed)
        with pytest.raises(InputError, match="retry of run first: the verdict on question"):
            continue_run(history, BENCHMARK, other, "first")
        assert len(continue_run(history, BENCHMARK, other, "first", replace=True).outcome) == 1
