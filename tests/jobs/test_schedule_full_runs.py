"""Planned full runs: due, overdue, and started by a command that no shell reads."""

import logging
import sys
import time
from datetime import UTC, date, datetime, timedelta

import pytest

from jobs.app.app import start_app
from jobs.app.targets import Target
from jobs.schedule.full_runs import FullRuns, FullRunState, next_full_run, planned_full_runs
from jobs.schedule.ledger import FULL_RUN, read_ledger
from storage.ledger import JobStatus, list_job_runs
from tests.jobs.small_benchmarks import import_benchmarks

LAST = datetime(2026, 11, 20, 9, tzinfo=UTC)
DAY = timedelta(days=1)
TARGET = Target(benchmark="b", family="main")


@pytest.mark.parametrize(
    ("days", "state", "key"),
    [
        (0, "planned", 27),
        (6.99, "planned", 27),
        (7, "due", 27),
        (7.99, "due", 27),
        (8, "overdue", 27),
        (13.99, "overdue", 27),
        (14, "overdue", 34),
        (-30, "planned", 27),
    ],
)
def test_a_full_run_is_due_a_period_after_the_last(days, state, key):
    due = next_full_run(LAST, 7 * DAY, LAST + days * DAY)
    assert due.due_at == LAST + 7 * DAY
    assert due.state is FullRunState(state)
    assert due.key_date == date(2026, 11, 1) + (key - 1) * DAY


class Clock:
    at = LAST + 8 * DAY

    def now(self) -> datetime:
        return self.at


def an_app(project, command: list[str], **keys: str):
    import_benchmarks(project, "b", n_runs=2, last=LAST.date())
    lines = [f"{key} = '{value}'" for key, value in keys.items()]
    text = (project / "recurring-eval.toml").read_text()
    text += "\n".join(
        [
            "\n[benchmark.b.schedule]",
            "full_run_every = '7d'",
            f"full_run_command = {command}",
            *lines,
        ]
    )
    (project / "recurring-eval.toml").write_text(text)
    return start_app(quiet=True, clock=Clock())


def look(app, full_runs: FullRuns) -> None:
    full_runs.look_after(app)
    with app.open_history(read_only=True) as history:
        planned = planned_full_runs(history, app.settings, [TARGET], app.clock.now())
        ledger = read_ledger(history)
    full_runs.start_due(app, ledger, planned)


def wait_for_end(full_runs: FullRuns) -> None:
    for command in full_runs.running:
        command.process.wait(timeout=20)


def attempts(app):
    with app.open_history(read_only=True) as history:
        return list(reversed(list_job_runs(history, job=FULL_RUN)))


def test_the_command_runs_once_with_its_words_and_without_a_shell(project):
    show = "import sys; open('seen', 'a').write(repr(sys.argv[1:]) + chr(10))"
    app = an_app(project, [sys.executable, "-c", show, "{benchmark} $(id)", "{family};{date}"])
    full_runs = FullRuns(owner="s@x:1:")
    for _ in range(4):
        look(app, full_runs)
        wait_for_end(full_runs)
    assert (project / "seen").read_text() == "['b $(id)', 'main;2026-11-27']\n"
    (attempt,) = attempts(app)
    assert (attempt.status, attempt.date) == (JobStatus.DONE, date(2026, 11, 27))
    assert attempt.message.startswith("exit status 0; output in ")
    # Nothing was imported: a period later it is tried again.
    app.clock.at += 7 * DAY
    look(app, full_runs)
    wait_for_end(full_runs)
    look(app, full_runs)
    assert [a.date for a in attempts(app)] == [date(2026, 11, 27), date(2026, 12, 4)]


def test_a_failing_command_is_tried_again_later_and_its_output_kept(project, caplog):
    app = an_app(project, [sys.executable, "-c", "print('oh no'); raise SystemExit(3)", "s3cret"])
    full_runs = FullRuns(owner="s@x:1:")
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            look(app, full_runs)
            wait_for_end(full_runs)
    (attempt,) = attempts(app)
    assert attempt.status is JobStatus.FAILED
    assert attempt.message.startswith("exit status 3; output in ")
    (output,) = (project / "full-run-logs").iterdir()
    assert output.read_text() == "oh no\n"
    assert "s3cret" not in caplog.text
    app.clock.at += timedelta(minutes=10)
    look(app, full_runs)
    assert len(attempts(app)) == 2
    full_runs.stop(app)


def test_a_command_that_does_not_exist_is_a_failure_with_its_name(project):
    app = an_app(project, ["./no-such-program"])
    full_runs = FullRuns(owner="s@x:1:")
    look(app, full_runs)
    (attempt,) = attempts(app)
    assert attempt.status is JobStatus.FAILED
    assert attempt.message.startswith("./no-such-program cannot be started: ")


def test_a_command_that_takes_too_long_is_stopped(project):
    app = an_app(project, ["sleep", "60"], full_run_timeout="1h")
    full_runs = FullRuns(owner="s@x:1:")
    look(app, full_runs)
    (running,) = full_runs.running
    app.clock.at += timedelta(minutes=61)
    start = time.monotonic()
    full_runs.look_after(app)
    assert time.monotonic() - start < 5
    assert running.process.poll() is not None
    assert attempts(app)[0].status is JobStatus.FAILED


def test_stopping_ends_the_command_and_leaves_a_clean_ledger(project):
    app = an_app(project, ["sleep", "60"])
    full_runs = FullRuns(owner="s@x:1:")
    look(app, full_runs)
    (running,) = full_runs.running
    full_runs.stop(app)
    assert running.process.poll() is not None
    (attempt,) = attempts(app)
    assert (attempt.status, attempt.retry_at) == (JobStatus.FAILED, None)
    assert attempt.message.startswith("stopped by request")


def test_another_scheduler_does_not_start_it_as_well(project):
    app = an_app(project, ["sleep", "60"])
    one, other = FullRuns(owner="s@x:1:"), FullRuns(owner="s@x:2:")
    look(app, one)
    look(app, other)
    assert (len(one.running), len(other.running)) == (1, 0)
    app.clock.at += timedelta(hours=5)
    look(app, other)
    assert other.running == []
    one.stop(app)
