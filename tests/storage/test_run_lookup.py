"""Listing runs and finding the one a user means."""

import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import RunKind, RunPurpose
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.runs import find_run, list_runs
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, START, bank, days, log


@pytest.fixture
def filled(history: History) -> History:
    """Five runs of one benchmark and one of another."""
    logs = [
        log("night-03", {"q01": 1}, started_at=START + days(3), agent_family="small"),
        log("night-01", {"q01": 1}, started_at=START + days(1)),
        log("tie-b", {"q01": 1}, started_at=START),
        log("tie-a", {"q01": 1}, started_at=START, purpose=RunPurpose.EXPERIMENT),
        log(
            "partial",
            {"q01": 1},
            started_at=START + days(9),
            subset_id="s",
            purpose=RunPurpose.CANDIDATE,
        ),
    ]
    with history.transaction():
        write_runs(history, BENCHMARK, logs, imported_at=NOW)
        create_benchmark(history, "other", now=NOW)
        other = type(bank())(benchmark="other", question_ids=("q01",), content_hashes=("",))
        save_bank(history, other, now=NOW)
        late = log("night-01", {"q01": 0}, started_at=START + days(20))
        write_runs(history, "other", [late], imported_at=NOW)
    return history


def keys(history: History, **filters: object) -> list[str]:
    return [run.run_key for run in list_runs(history, BENCHMARK, **filters)]


def test_runs_are_listed_by_start_then_key(filled: History) -> None:
    assert keys(filled) == ["tie-a", "tie-b", "night-01", "night-03", "partial"]


def test_filters_narrow_the_list(filled: History) -> None:
    assert keys(filled, family="small") == ["night-03"]
    assert keys(filled, kinds=[RunKind.PARTIAL]) == ["partial"]
    assert keys(filled, kinds=[]) == []
    assert keys(filled, purposes={RunPurpose.EXPERIMENT, RunPurpose.CANDIDATE}) == [
        "tie-a",
        "partial",
    ]
    assert keys(filled, since=START + days(1), before=START + days(9)) == ["night-01", "night-03"]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("night-03", "night-03"),
        ("part", "partial"),
        ("last", "partial"),
        ("last-full", "night-03"),
        ("last-routine", "night-03"),
        ("night-01", "night-01"),
    ],
)
def test_run_is_found_by_what_users_call_it(filled: History, reference: str, found: str) -> None:
    assert find_run(filled, reference, benchmark=BENCHMARK).run_key == found


def test_run_is_found_by_its_number_last(filled: History) -> None:
    run = find_run(filled, "partial")
    assert find_run(filled, str(run.run_id)) == run


def test_last_looks_at_every_benchmark_unless_told(filled: History) -> None:
    assert find_run(filled, "last").benchmark == "other"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("night", r"'night' fits 2 runs of benchmark .*: night-01 .*night-03 .*; give more of it"),
        ("nigth-03", r"no run 'nigth-03'; near it: night-03"),
        ("???", r"no run '\?\?\?'; the latest: partial, night-03"),
        ("", "no run ''"),
        ("123456789012345678901234567890", "no run '1234"),
    ],
)
def test_other_references_are_refused_with_candidates(
    filled: History, reference: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        find_run(filled, reference, benchmark=BENCHMARK)


def test_key_in_two_benchmarks_must_be_told_apart(filled: History) -> None:
    with pytest.raises(InputError, match=rf"fits 2 runs.*{BENCHMARK}.*other"):
        find_run(filled, "night-01")


def test_empty_history_says_that_it_is_empty(history: History) -> None:
    for reference, words in (("last", "import one first"), ("x", "no runs yet")):
        with pytest.raises(InputError, match=words):
            find_run(history, reference)
