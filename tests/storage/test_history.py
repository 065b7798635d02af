"""Opening, locking, transactions and time zones of the history file."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest

from recurring_eval.errors import InputError
from storage.file.errors import HistoryError, HistoryLockedError, HistoryNotFoundError, SchemaError
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names, create_benchmark, overview
from storage.runs.runs import find_run, list_runs
from storage.runs.write_runs import write_runs
from tests.storage.builders import BENCHMARK, NOW, log

ROOT = Path(__file__).resolve().parents[2]


def run_python(code: str, *arguments: str, **environment: str) -> str:
    """Output of a Python program run in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return finished.stdout.strip()


HOLDER = """
import sys
from storage.file.history import History
with History.open(sys.argv[1]) as history:
    print("held", flush=True)
    sys.stdin.readline()
"""


def hold_in_another_process(path: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(HistoryNotFoundError, match=r"none\.duckdb does not exist.*init"):
        History.open(tmp_path / "none.duckdb")
    (tmp_path / "empty.duckdb").touch()
    with pytest.raises(HistoryNotFoundError, match="is empty"):
        History.open(tmp_path / "empty.duckdb")


def test_create_never_touches_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(HistoryError, match="exists already"):
        History.create(path)
    assert path.read_text() == "mine"
    with pytest.raises(HistoryError, match="cannot be used"):
        History.create(tmp_path / "no" / "folder.duckdb")


def test_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "history.duckdb"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(HistoryError, match="not a valid DuckDB database") as caught:
        History.open(path)
    assert "\n" not in str(caught.value)


def test_error_in_the_middle_leaves_nothing(history: History) -> None:
    def write_then_fail() -> None:
        with history.transaction():
            create_benchmark(history, "other", now=NOW)
            write_runs(history, BENCHMARK, [log("r1", {"q01": 1})], imported_at=NOW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_then_fail()
    assert benchmark_names(history) == [BENCHMARK]
    assert list_runs(history, BENCHMARK) == []
    history.close()
    with History.open(history.path) as reopened:
        assert list_runs(reopened, BENCHMARK) == []
        assert overview(reopened)[0].n_verdicts == 0


def test_failed_statement_cannot_be_passed_over(history: History) -> None:
    def swallow() -> None:
        with history.transaction():
            create_benchmark(history, "other", now=NOW)
            with pytest.raises(HistoryError):
                history.insert_row("benchmark", benchmark_id=None, name="x", created_at=NOW)

    with pytest.raises(HistoryError, match="nothing of it was stored"):
        swallow()
    assert benchmark_names(history) == [BENCHMARK]
    with history.transaction():
        create_benchmark(history, "other", now=NOW)
    assert benchmark_names(history) == ["other", BENCHMARK]


def test_writing_needs_a_transaction_and_they_do_not_nest(history: History) -> None:
    with pytest.raises(HistoryError, match="transaction"):
        create_benchmark(history, "other", now=NOW)
    with (
        history.transaction(),
        pytest.raises(HistoryError, match="open already"),
        history.transaction(),
    ):
        pass


def test_read_only_history_refuses_to_write(history: History) -> None:
    history.close()
    with (
        History.open(history.path, read_only=True) as reader,
        pytest.raises(HistoryError, match="read-only"),
        reader.transaction(),
    ):
        pass


def test_second_process_waits_then_names_the_holder(history: History) -> None:
    history.close()
    holder = hold_in_another_process(history.path)
    try:
        for read_only in (False, True):
            started = time.monotonic()
            with pytest.raises(HistoryLockedError, match=f"process {holder.pid}") as caught:
                History.open(history.path, read_only=read_only, wait_seconds=0.3)
            assert 0.3 <= time.monotonic() - started < 3
            assert caught.value.pid == holder.pid
    finally:
        holder.communicate("\n", timeout=30)


def test_second_process_gets_its_turn(history: History) -> None:
    history.close()
    holder = hold_in_another_process(history.path)
    release = threading.Timer(0.4, holder.communicate, args=("\n",))
    release.start()
    with History.open(history.path, wait_seconds=20) as opened:
        assert benchmark_names(opened) == [BENCHMARK]
    release.join()


def test_same_process_may_open_twice(history: History) -> None:
    with History.open(history.path) as second:
        with second.transaction():
            write_runs(second, BENCHMARK, [log("r1", {"q01": 1})], imported_at=NOW)
        assert find_run(history, "r1") == find_run(second, "r1")
    with pytest.raises(HistoryError, match="already open in this process in another mode"):
        History.open(history.path, read_only=True)


def test_threads_of_one_process_write_in_turn(history: History) -> None:
    def write(number: int) -> None:
        with History.open(history.path) as opened, opened.transaction():
            write_runs(opened, BENCHMARK, [log(f"r{number}", {"q01": 1})], imported_at=NOW)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({run.run_id for run in list_runs(history, BENCHMARK)}) == 8


def test_second_writer_of_a_process_is_not_kept_waiting_for_ever(history: History) -> None:
    with (
        History.open(history.path, wait_seconds=0.1) as second,
        history.transaction(),
        pytest.raises(HistoryLockedError, match="another transaction of this process"),
        second.transaction(),
    ):
        pass


def test_checkpoint_leaves_no_write_ahead_log(history: History) -> None:
    wal = history.path.with_name(history.path.name + ".wal")
    with history.transaction():
        write_runs(history, BENCHMARK, [log("r1", {"q01": 1})], imported_at=NOW)
    assert wal.stat().st_size > 0
    history.checkpoint()
    assert not wal.exists() or wal.stat().st_size == 0


def test_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (i INTEGER)")
    with pytest.raises(SchemaError, match="not a history of recurring-eval"):
        History.open(path)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Australia/Lord_Howe"])
def test_times_survive_a_process_in_another_zone(history: History, zone: str) -> None:
    history.close()
    written = run_python(
        """
        import sys
        from datetime import datetime, timedelta, timezone
        from storage.file.history import History
        from storage.runs.runs import find_run
        from storage.runs.write_runs import write_runs
        from tests.storage.builders import BENCHMARK, NOW, log
        start = datetime(2026, 3, 8, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))
        with History.open(sys.argv[1]) as history:
            with history.transaction():
                write_runs(
                    history, BENCHMARK, [log("r1", {"q01": 1}, started_at=start)], imported_at=NOW
                )
            print(find_run(history, "r1").started_at.isoformat())
        """,
        str(history.path),
        TZ=zone,
    )
    start = datetime(2026, 3, 8, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    assert written == start.astimezone(UTC).isoformat()
    with History.open(history.path) as opened:
        run = find_run(opened, "r1")
        assert (run.started_at, run.started_at.tzinfo) == (start, UTC)
        assert run.imported_at == NOW
        assert list_runs(opened, BENCHMARK, since=start) == [run]
        assert list_runs(opened, BENCHMARK, before=start) == []


def test_time_without_a_zone_is_refused_before_anything_is_written(history: History) -> None:
    naive = NOW.replace(tzinfo=None)
    for bad in (log("r2", {"q01": 1}, finished_at=naive), log("r2", {"q01": 1}, started_at=naive)):
        with history.transaction(), pytest.raises(InputError, match=r"run r2.*no time zone"):
            write_runs(history, BENCHMARK, [log("r1", {"q01": 1}), bad], imported_at=NOW)
        assert list_runs(history, BENCHMARK) == []


READER = """
import sys, time
from storage.file.history import History
ends = time.monotonic() + 60
print("reading", flush=True)
while time.monotonic() < ends:
    with History.open(sys.argv[1], read_only=True) as history:
        time.sleep(0.3)
"""


def test_writer_gets_its_turn_among_overlapping_readers(history: History) -> None:
    history.close()
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(history.path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    try:
        for reader in readers:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
        for number in range(5):
            with History.open(history.path, wait_seconds=20) as opened, opened.transaction():
                create_benchmark(opened, f"b{number}", now=NOW)
    finally:
        for reader in readers:
            reader.kill()
            reader.communicate()
