"""Runs and verdicts come back exactly as they went in, and what importing again does."""

import dataclasses
import math

import numpy as np
import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, PASS, RunKind, RunLog, RunPurpose
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.runs.runs import find_run, list_runs
from storage.runs.verdicts import load_log, load_reasons
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, START, bank, days, log

RICH = log(
    "2026-02-01/coder",
    [
        ("q03", 1, PASS),
        ("q01", 2, FAIL),
        ("q01", 1, PASS),
        ("q02", 1, "timeout"),
        ("q05", 1, "error"),
    ],
    agent_config="cfg-1",
    agent_family="small",
    purpose=RunPurpose.CANDIDATE,
    finished_at=START + days(0.1),
    tags=("nightly", "gpu"),
    subset_id="s-1",
    duration_s=np.array([1.25, np.nan, 0.1, 3.0, np.nan]),
    cost=np.array([0.1, 0.2, np.nan, 1 / 3, 0.0]),
)


def write(history: History, *logs: RunLog, replace: bool = False) -> list[tuple[str, int, int]]:
    with history.transaction():
        written = write_runs(history, BENCHMARK, logs, imported_at=NOW, replace=replace)
    assert [run.run_key for run in written] == [run.run_key for run in logs]
    return [(run.status, run.n_new_verdicts, run.n_replaced_verdicts) for run in written]


def verdicts_of(run_log: RunLog) -> set[tuple[object, ...]]:
    """Rows of a log as comparable values."""
    reasons = (*run_log.reasons, "")
    return {
        (
            run_log.question_ids[question],
            int(trial),
            int(outcome),
            reasons[reason],
            repr(float(duration)),
            repr(float(cost)),
        )
        for question, trial, outcome, reason, duration, cost in zip(
            run_log.question_index,
            run_log.trial,
            run_log.outcome,
            run_log.reason_index,
            run_log.duration_s,
            run_log.cost,
            strict=True,
        )
    }


def stored_verdicts(history: History, run_key: str) -> dict[tuple[str, int], object]:
    """Outcome, or reason where missing, by question and trial."""
    rows = verdicts_of(load_log(history, find_run(history, run_key)))
    return {(key, trial): reason or outcome for key, trial, outcome, reason, _, _ in rows}


def whole_content(history: History) -> list[object]:
    """Every row of the tables an import may touch."""
    tables = ("run", "verdict", "verdict_revision")
    return [sorted(map(repr, history.rows(f"FROM {table}"))) for table in tables]


def test_run_read_after_reopening_equals_what_was_written(history: History) -> None:
    write(history, RICH)
    history.close()
    with History.open(history.path, read_only=True) as reopened:
        run = find_run(reopened, RICH.run_key)
        stored = load_log(reopened, run)
    columns = {"question_ids", "content_hashes", "question_index", "trial", "outcome", "reasons"}
    columns |= {"reason_index", "duration_s", "cost"}
    for name in {f.name for f in dataclasses.fields(RunLog)} - columns:
        assert getattr(stored, name) == getattr(RICH, name), name
    assert verdicts_of(stored) == verdicts_of(RICH)
    assert run.kind is RunKind.PARTIAL
    assert (run.n_verdicts, run.n_valid, run.n_missing) == (5, 2, 2)
    assert run.pass_rate == (1.0 + 0.5) / 2
    assert (run.bank_version, run.bank_size) == (bank().version, len(QUESTIONS))
    assert run.imported_at == NOW


def test_importing_the_same_again_changes_nothing(history: History) -> None:
    assert write(history, RICH) == [("imported", 5, 0)]
    before = whole_content(history)
    order = np.array([4, 2, 0, 1, 3])
    shuffled = dataclasses.replace(
        RICH,
        reasons=("error", "timeout"),
        reason_index=np.array([-1, -1, -1, 1, 0], dtype=np.int16)[order],
        **{
            name: getattr(RICH, name)[order]
            for name in ("question_index", "trial", "outcome", "duration_s", "cost")
        },
    )
    assert write(history, RICH) == [("already there", 0, 0)]
    assert write(history, shuffled) == [("already there", 0, 0)]
    assert write(history, RICH, replace=True) == [("already there", 0, 0)]
    assert whole_content(history) == before


def test_log_with_fewer_verdicts_changes_nothing(history: History) -> None:
    write(history, log("r1", {"q01": 1, "q02": 0, "q03": 1}))
    before = whole_content(history)
    assert write(history, log("r1", {"q02": 0})) == [("already there", 0, 0)]
    assert whole_content(history) == before


def test_more_verdicts_extend_a_run_and_its_summary(history: History) -> None:
    write(history, log("r1", {"q01": 1, "q02": 0}))
    more = log("r1", [("q02", 1, 0), ("q02", 2, 1), ("q05", 1, 1), ("q06", 1, "error")])
    assert write(history, more) == [("extended", 3, 0)]
    run = find_run(history, "r1")
    assert (run.n_verdicts, run.n_valid, run.n_missing) == (5, 3, 1)
    assert run.pass_rate == pytest.approx((1 + 0.5 + 1) / 3, abs=1e-15)
    whole = log(
        "r2",
        [("q01", 1, 1), ("q02", 1, 0), ("q02", 2, 1), ("q05", 1, 1), ("q06", 1, "error")],
    )
    write(history, whole)
    assert len(set(history.rows("SELECT checksum FROM run"))) == 1
    assert write(history, whole) == [("already there", 0, 0)]


def test_verdict_not_run_is_filled_in_by_a_later_import(history: History) -> None:
    write(history, log("r1", {"q01": 1, "q02": "not run"}))
    assert write(history, log("r1", {"q01": 1, "q02": 0})) == [("extended", 1, 0)]
    assert stored_verdicts(history, "r1") == {("q01", 1): 1, ("q02", 1): 0}
    assert find_run(history, "r1").n_missing == 0


@pytest.mark.parametrize(
    ("stored", "later", "words"),
    [(1, 0, "pass, the log says fail"), ("error", 1, r"missing \(error\), the log says pass")],
)
def test_changed_verdict_is_refused_naming_it(
    history: History, stored: int | str, later: int | str, words: str
) -> None:
    write(history, log("r1", {"q01": 1, "q02": stored}), log("r2", {"q01": 1}))
    before = whole_content(history)
    changed = log("r1", {"q01": 1, "q02": later, "q03": 1})
    with pytest.raises(InputError, match=f"run r1, question 'q02', trial 1.*{words}.*--replace"):
        write(history, log("r3", {"q01": 1}), changed)
    assert whole_content(history) == before


def test_replacing_keeps_the_old_verdicts_as_numbered_revisions(history: History) -> None:
    write(history, log("r1", {"q01": 1, "q02": 0, "q03": "error"}), log("r2", {"q01": 1}))
    second = log("r1", {"q02": 1, "q03": 0, "q04": 1})
    assert write(history, second, replace=True) == [("replaced", 1, 2)]
    assert stored_verdicts(history, "r1") == {
        ("q01", 1): 1,
        ("q02", 1): 1,
        ("q03", 1): 0,
        ("q04", 1): 1,
    }
    assert write(history, log("r1", {"q02": 0}), replace=True) == [("replaced", 0, 1)]
    old = history.rows(
        "SELECT question_key, passed, reason, revision, replaced_at = ? FROM verdict_revision"
        " JOIN question USING (question_id) ORDER BY revision, question_key",
        [NOW],
    )
    assert old == [
        ("q02", 0, None, 1, True),
        ("q03", None, "error", 1, True),
        ("q02", 1, None, 2, True),
    ]
    run = find_run(history, "r1")
    assert (run.n_verdicts, run.n_valid, run.n_missing, run.pass_rate) == (4, 4, 0, 0.5)
    assert stored_verdicts(history, "r2") == {("q01", 1): 1}
    write(history, log("r3", {"q01": 1, "q02": 0, "q03": 0, "q04": 1}))
    checksums = history.rows("SELECT checksum FROM run WHERE run_key IN ('r1', 'r3')")
    assert len(set(checksums)) == 1


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("agent", "other", "agent 'coder', the log says 'other'"),
        ("purpose", RunPurpose.CANDIDATE, "purpose 'routine', the log says 'candidate'"),
        ("started_at", START + days(1), "started_at 2026-02-01T06:30:00"),
        ("subset_id", "s-1", "subset_id none, the log says 's-1'"),
    ],
)
def test_changed_fact_of_a_run_is_refused_unless_replaced(
    history: History, name: str, value: object, words: str
) -> None:
    write(history, log("r1", {"q01": 1}))
    changed = log("r1", {"q01": 1}, **{name: value})
    with pytest.raises(InputError, match=f"run r1 is stored with {words}"):
        write(history, changed)
    assert write(history, changed, replace=True) == [("replaced", 0, 0)]
    assert getattr(find_run(history, "r1"), name) == value
    assert write(history, changed) == [("already there", 0, 0)]


def test_order_of_logs_and_verdicts_does_not_matter(history: History) -> None:
    rng = np.random.default_rng(3)
    rows = [(key, int(t), int(rng.integers(2))) for key in QUESTIONS for t in (1, 2)]
    write(history, log("a", rows), log("b", rows[::-1]))
    assert len(set(history.rows("SELECT checksum, pass_rate, n_valid FROM run"))) == 1
    assert verdicts_of(load_log(history, find_run(history, "a"))) == verdicts_of(
        load_log(history, find_run(history, "b"))
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (log("r1", [("q01", 1, 1), ("q01", 1, 1)]), "has question 'q01' trial 1 twice"),
        (log("r1", {"q99": 1, "zz": 1}), "questions the bank does not have.*: q99, zz; .*extend"),
        (log("r1", {}), "run r1 has no verdicts"),
        (log("r1", [("q01", 0, 1)]), "has trial 0"),
        (log("r1", {"q01": 7}), "an outcome that is not"),
        (log("r1", {"q01": -1}), "needs a reason"),
        (
            dataclasses.replace(log("r1", {"q01": 1}), question_index=np.array([1], np.int32)),
            "`question_index` points outside",
        ),
        (dataclasses.replace(log("r1", {"q01": 1}), cost=np.zeros(2)), "`cost` needs one entry"),
    ],
)
def test_bad_log_is_refused_and_nothing_is_stored(
    history: History, bad: RunLog, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        write(history, log("r0", {"q01": 1}), bad)
    assert list_runs(history, BENCHMARK) == []


def test_run_twice_in_one_import_is_refused(history: History) -> None:
    with pytest.raises(InputError, match="run r1 is in the import twice"):
        write(history, log("r1", {"q01": 1}), log("r1", {"q02": 1}))


def test_benchmark_without_a_bank_takes_no_runs(history: History) -> None:
    with history.transaction():
        create_benchmark(history, "other", now=NOW)
        with pytest.raises(InputError, match="no bank yet"):
            write_runs(history, "other", [log("r1", {"q01": 1})], imported_at=NOW)


def test_changed_content_is_refused_until_the_bank_knows_it(history: History) -> None:
    first = bank(["q01"], {"q01": "a"})
    with history.transaction():
        save_bank(history, first, now=NOW)
    old = log("r1", {"q01": 1}, content_hashes=("a",))
    new = log("r2", {"q01": 0}, content_hashes=("b",))
    write(history, old)
    with pytest.raises(InputError, match=r"content changed.*q01.*--extend-bank"):
        write(history, new)
    with history.transaction():
        save_bank(history, bank(["q01"], {"q01": "b"}), now=NOW)
    write(history, new)
    assert write(history, old) == [("already there", 0, 0)]
    assert find_run(history, "r1").bank_version == first.version
    assert load_log(history, find_run(history, "r1")).content_hashes == ("a",)


def test_run_without_a_valid_verdict_has_no_pass_rate(history: History) -> None:
    write(history, log("r1", {"q01": "error", "q02": "timeout", "q03": "error"}), RICH)
    run = find_run(history, "r1")
    assert math.isnan(run.pass_rate)
    assert run.under_covered
    runs = list_runs(history, BENCHMARK)
    assert load_reasons(history, runs) == {
        run.run_id: {"error": 2, "timeout": 1},
        find_run(history, RICH.run_key).run_id: {"error": 1, "timeout": 1},
    }
