"""Adaptive sessions: opened, told, finished and found again."""

import dataclasses
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import Run
from storage.export import export_tables
from storage.file.errors import HistoryError
from storage.file.history import History
from storage.runs.benchmarks import create_benchmark, save_bank
from storage.sessions import (
    SessionRecord,
    SessionStep,
    add_steps,
    find_session,
    finish_session,
    list_sessions,
    save_session,
)
from tests.storage.builders import BENCHMARK, NOW, QUESTIONS, bank, days
from tests.storage.derived import calibration, save

HOUR = timedelta(hours=1)


@pytest.fixture
def calibration_id(history: History, runs: list[Run]) -> int:
    """A calibration of the bank with questions q00 to q09."""
    return save(history, calibration(history, runs))


def start(history: History, calibration_id: int, **changes: object) -> str:
    settings = {
        "benchmark": BENCHMARK,
        "bank_version": bank().version,
        "family": "main",
        "agent": "coder",
        "method": "hspr",
        "k": 4,
        "seed": 2**40,
        "calibration_id": calibration_id,
        "opened_at": NOW,
    }
    with history.transaction():
        return save_session(history, **(settings | changes))


def step(question: str, passes: int = 1, trials: int = 1, **facts: object) -> SessionStep:
    settings = {"told_at": NOW + HOUR, **facts}
    return SessionStep(question_id=question, passes=passes, trials=trials, **settings)


def tell(history: History, session_id: str, *steps: SessionStep) -> None:
    with history.transaction():
        add_steps(history, session_id, steps)


def finish(history: History, session_id: str, run_id: int | None) -> None:
    with history.transaction():
        finish_session(history, session_id, run_id=run_id, finished_at=NOW + days(1))


def test_session_reads_back_with_its_steps_in_order(
    history: History, runs: list[Run], calibration_id: int
) -> None:
    session_id = start(history, calibration_id)
    assert re.fullmatch(rf"{BENCHMARK}-hspr-k4-[0-9a-f]{{8}}", session_id)
    other = start(history, calibration_id, seed=1)
    steps = (
        step("q07", 3, 5),
        step("q01", 0, 0, reason="timeout"),
        step("q09", 0, 2, told_at=NOW + 3 * HOUR),
    )
    tell(history, session_id, *steps[:2])
    tell(history, other, step("q07", 0))
    tell(history, session_id)
    tell(history, session_id, steps[2])
    open_session = SessionRecord(
        session_id=session_id,
        benchmark=BENCHMARK,
        bank_version=bank().version,
        agent_family="main",
        agent="coder",
        method="hspr",
        k=4,
        seed=2**40,
        calibration_id=calibration_id,
        opened_at=NOW,
        finished_at=None,
        run_id=None,
        steps=steps,
    )
    assert find_session(history, session_id) == open_session
    assert open_session.n_valid == 2
    finish(history, session_id, runs[2].run_id)
    history.close()
    with History.open(history.path, read_only=True) as reopened:
        found = find_session(reopened, session_id)
    assert (found.finished_at, found.run_id, found.steps) == (
        NOW + days(1),
        runs[2].run_id,
        steps,
    )


def test_times_of_another_zone_are_kept_in_utc(history: History, calibration_id: int) -> None:
    tokyo = timezone(timedelta(hours=9))
    session_id = start(history, calibration_id, opened_at=NOW.astimezone(tokyo))
    assert start(history, calibration_id) == f"{session_id}-2"
    tell(history, session_id, step("q00", told_at=NOW.astimezone(tokyo)))
    found = find_session(history, session_id)
    assert (found.opened_at, found.steps[0].told_at) == (NOW, NOW)
    assert found.steps[0].told_at.utcoffset() == timedelta(0)
    naive = datetime(2026, 3, 1, 3)  # noqa: DTZ001  # what is refused
    with pytest.raises(InputError, match="`told_at` 2026-03-01T03:00:00 has no time zone"):
        tell(history, session_id, step("q01", told_at=naive))


@pytest.mark.parametrize(
    "change", [{"seed": 3}, {"k": 5}, {"agent": "x"}, {"opened_at": NOW + HOUR}, {"family": "x"}]
)
def test_id_follows_from_what_was_asked(
    history: History, calibration_id: int, change: dict[str, object]
) -> None:
    first = start(history, calibration_id)
    changed = start(history, calibration_id, **change)
    assert changed[-8:] != first[-8:]


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (step("q1"), "question 'q1' is not in the bank of session .*; near it: q01"),
        (step("q00"), "question 'q00' was answered in session .* already"),
        (step("q02"), "question 'q02' was answered in session .* already"),
        (step("q05", 2, 1), "question 'q05' has 2 passes of 1 trials"),
        (step("q05", -1, 1), "question 'q05' has -1 passes of 1 trials"),
        (step("q05", 0, 0), "question 'q05' has no trials and no reason why; give a reason"),
        (step("q05", reason="error"), "question 'q05' has a verdict and the reason 'error'"),
    ],
)
def test_step_that_cannot_be_is_refused_and_those_with_it(
    history: History, calibration_id: int, refused: SessionStep, message: str
) -> None:
    session_id = start(history, calibration_id)
    tell(history, session_id, step("q00"))
    with pytest.raises(InputError, match=message):
        tell(history, session_id, step("q02"), refused)
    assert [kept.question_id for kept in find_session(history, session_id).steps] == ["q00"]


def test_question_of_a_later_bank_is_unknown_to_the_session(
    history: History, calibration_id: int
) -> None:
    session_id = start(history, calibration_id)
    with history.transaction():
        save_bank(history, bank([*QUESTIONS, "q10"]), now=NOW)
    with pytest.raises(InputError, match="question 'q10' is not in the bank of session"):
        tell(history, session_id, step("q10"))


def test_finished_session_takes_nothing_more(
    history: History, runs: list[Run], calibration_id: int
) -> None:
    session_id = start(history, calibration_id)
    with pytest.raises(InputError, match="has no run 77"):
        finish(history, session_id, 77)
    finish(history, session_id, None)
    assert find_session(history, session_id).run_id is None
    for change in (
        lambda: tell(history, session_id, step("q00")),
        lambda: finish(history, session_id, runs[0].run_id),
    ):
        with pytest.raises(InputError, match=r"was finished on 2026-03-02 02:00 UTC; start"):
            change()
    found = find_session(history, session_id)
    assert (found.steps, found.run_id) == ((), None)


def test_session_needs_a_bank_and_a_calibration_of_its_benchmark(
    history: History, calibration_id: int
) -> None:
    with pytest.raises(InputError, match="has no bank version abc"):
        start(history, calibration_id, bank_version="abc")
    with pytest.raises(InputError, match=f"has no calibration {calibration_id + 1}"):
        start(history, calibration_id + 1)
    with history.transaction():
        create_benchmark(history, "other", now=NOW)
        save_bank(history, dataclasses.replace(bank(), benchmark="other"), now=NOW)
    with pytest.raises(InputError, match=f"'other' has no calibration {calibration_id}"):
        start(history, calibration_id, benchmark="other")
    with pytest.raises(InputError, match="no benchmark 'nope'"):
        start(history, calibration_id, benchmark="nope")
    assert list_sessions(history, BENCHMARK) == []


def test_session_is_found_by_a_unique_beginning(history: History, calibration_id: int) -> None:
    with pytest.raises(InputError, match="no session 'x', and no sessions yet"):
        find_session(history, "x")
    fixed, other = (start(history, calibration_id, method=name) for name in ("hspr", "rasch-cat"))
    assert find_session(history, f"{BENCHMARK}-h").session_id == fixed
    with pytest.raises(InputError, match=rf"fits 2 sessions .*: {fixed}, {other}; give more of it"):
        find_session(history, BENCHMARK)
    with pytest.raises(InputError, match=f"no session '{fixed}x'; near it: {fixed}"):
        find_session(history, f"{fixed}x")
    with pytest.raises(InputError, match=f"no session ''; the latest: {fixed}, {other}"):
        find_session(history, "")
    # Writing wants the whole id.
    with pytest.raises(InputError, match=f"no session '{fixed[:-1]}'; near it: {fixed}"):
        tell(history, fixed[:-1], step("q00"))
    twice = start(history, calibration_id)
    assert (twice, find_session(history, fixed).session_id) == (f"{fixed}-2", fixed)


def test_sessions_are_listed_as_they_were_opened(history: History, calibration_id: int) -> None:
    later = start(history, calibration_id, opened_at=NOW + HOUR)
    first = start(history, calibration_id)
    small = start(history, calibration_id, family="small", opened_at=NOW + 2 * HOUR)
    tell(history, later, step("q03"), step("q02"))
    finish(history, first, None)
    assert [(s.session_id, len(s.steps)) for s in list_sessions(history, BENCHMARK)] == [
        (first, 0),
        (later, 2),
        (small, 0),
    ]
    main = list_sessions(history, BENCHMARK, family="main", unfinished=True)
    assert [record.session_id for record in main] == [later]


def test_steps_are_written_inside_a_transaction_only(history: History, calibration_id: int) -> None:
    session_id = start(history, calibration_id)
    with pytest.raises(HistoryError, match="writing needs an open"):
        add_steps(history, session_id, [step("q00")])


def test_sessions_are_exported_and_their_loss_is_noticed(
    history: History, calibration_id: int, tmp_path: Path
) -> None:
    session_id = start(history, calibration_id)
    tell(history, session_id, step("q03", 2, 3), step("q02", 0, 0, reason="error"))
    export_tables(history, tmp_path / "out")
    rows = duckdb.sql(
        "SELECT session_id, position, passes, trials, reason"
        f" FROM read_parquet('{tmp_path}/out/adaptive_step.parquet') ORDER BY position"
    ).fetchall()
    assert rows == [(session_id, 0, 2, 3, None), (session_id, 1, 0, 0, "error")]
    history.close()
    with duckdb.connect(str(history.path)) as connection:
        connection.execute("DELETE FROM adaptive_step WHERE position = 1")
    with pytest.raises(HistoryError, match="adaptive_step has 1 rows, but the last commit left 2"):
        History.open(history.path)
