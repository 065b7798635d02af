"""Watched folders: new and changed files, once, and only when they rest."""

import logging
import os
from datetime import UTC, datetime, timedelta

import pytest

from jobs.app.app import start_app
from jobs.app.config_schedule import WatchSettings
from jobs.schedule.watch_folders import FolderWatch, import_watched
from storage.file.errors import HistoryLockedError
from storage.ledger import JobStatus, list_job_runs
from storage.runs.benchmarks import benchmark_names
from storage.runs.runs import list_runs
from tests.jobs.command_line import write_runs_csv

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class Clock:
    at = NOW

    def now(self) -> datetime:
        return self.at


@pytest.fixture
def app(project):
    (project / "logs").mkdir()
    with (project / "recurring-eval.toml").open("a") as file:
        file.write("\n[[watch]]\npath = 'logs'\nbenchmark = 'b'\npurpose = 'experiment'\n")
    return start_app(quiet=True, clock=Clock())


def look_twice(app, watch) -> bool:
    import_watched(app, watch, owner="w@x:1:")
    app.clock.at += MINUTE
    return import_watched(app, watch, owner="w@x:1:")


def runs(app):
    with app.open_history(read_only=True) as history:
        return list_runs(history, "b") if "b" in benchmark_names(history) else []


def imports(app):
    with app.open_history(read_only=True) as history:
        return list_job_runs(history, job="import")


def test_a_file_is_imported_once_it_rests_and_only_once(app, project):
    watch = FolderWatch(watches=app.settings.watch)
    write_runs_csv(project / "logs" / "r1.csv", {"r1": {"q1": "pass", "q2": "fail"}})
    assert import_watched(app, watch, owner="w@x:1:")
    assert runs(app) == []
    assert look_twice(app, watch)
    (run,) = runs(app)
    assert (run.run_key, run.purpose.value) == ("r1", "experiment")
    for _ in range(3):
        assert look_twice(app, watch)
    (attempt,) = imports(app)
    assert attempt.status is JobStatus.DONE
    assert "Added 1 run and 2 verdicts from 1 file." in attempt.message


def test_after_a_restart_known_content_is_passed_over(app, project):
    write_runs_csv(project / "logs" / "r1.csv", {"r1": {"q1": "pass"}})
    assert look_twice(app, FolderWatch(watches=app.settings.watch))
    os.utime(project / "logs" / "r1.csv")
    again = FolderWatch(watches=app.settings.watch)
    assert look_twice(app, again)
    assert not again.has_new()
    assert len(imports(app)) == 1


def test_a_file_that_grows_is_taken_when_it_rests_and_again_when_it_changed(app, project):
    watch = FolderWatch(watches=app.settings.watch)
    path = project / "logs" / "r1.csv"
    words = {}
    for n, word in enumerate(("pass", "fail", "pass")):
        words |= {f"q{n}": word}
        write_runs_csv(path, {"r1": words})
        import_watched(app, watch, owner="w@x:1:")
        assert runs(app) == []
        app.clock.at += MINUTE
    import_watched(app, watch, owner="w@x:1:")
    assert runs(app)[0].n_verdicts == 3
    # The bank was made from what came first: a new question is refused, and told once.
    write_runs_csv(path, {"r1": words | {"q9": "pass"}})
    assert not look_twice(app, watch)
    assert look_twice(app, watch)
    assert [a.status for a in imports(app)] == [JobStatus.FAILED, JobStatus.DONE]


def test_files_of_one_look_make_one_bank(app, project):
    deep = project / "logs" / "deep"
    deep.mkdir()
    for n in range(5):
        write_runs_csv(deep / f"r{n}.csv", {f"r{n}": {f"q{n}": "pass"}})
    assert look_twice(app, FolderWatch(watches=app.settings.watch))
    assert len(runs(app)) == 5


def test_a_refused_file_is_told_and_the_others_are_imported(app, project, caplog):
    write_runs_csv(project / "logs" / "good.csv", {"r1": {"q1": "pass"}})
    (project / "logs" / "bad.csv").write_text("run_id,question_id\nr,q\n")
    (project / "logs" / ".hidden.csv").write_text("x")
    (project / "logs" / "notes.txt").write_text("x")
    watch = FolderWatch(watches=app.settings.watch)
    with caplog.at_level(logging.INFO):
        assert not look_twice(app, watch)
    assert len(runs(app)) == 1
    refused = [r.getMessage() for r in caplog.records if "import refused" in r.getMessage()]
    assert len(refused) == 1
    assert "bad.csv" in refused[0]


def test_a_missing_folder_is_told_once_and_found_later(app, project, caplog):
    watch = FolderWatch(watches=(WatchSettings(path=project / "nowhere", benchmark="b"),))
    for _ in range(3):
        assert look_twice(app, watch)
    assert caplog.text.count("nowhere: no such file or folder") == 1
    (project / "nowhere").mkdir()
    write_runs_csv(project / "nowhere" / "r.csv", {"r1": {"q1": "pass"}})
    assert look_twice(app, watch)
    assert len(runs(app)) == 1


def test_a_locked_history_is_no_reason_to_forget_a_file(app, project, monkeypatch):
    write_runs_csv(project / "logs" / "r1.csv", {"r1": {"q1": "pass"}})
    watch = FolderWatch(watches=app.settings.watch)
    import_watched(app, watch, owner="w@x:1:")
    app.clock.at += MINUTE

    def locked(*args, **kwargs):
        raise HistoryLockedError("in use")

    with monkeypatch.context() as patch:
        patch.setattr("jobs.schedule.watch_folders.import_runs", locked)
        assert not import_watched(app, watch, owner="w@x:1:")
    assert import_watched(app, watch, owner="w@x:1:")
    assert len(runs(app)) == 1
