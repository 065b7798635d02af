"""What the processes do that are killed, or that compete for the history."""

import os
import time
import traceback
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from jobs.app.app import App, start_app
from jobs.clock import FixedClock
from jobs.demo import write_long_table
from jobs.harnesses.registry import HARNESSES
from jobs.importing.import_runs import ImportOptions, import_runs
from jobs.nights.recalibrate import recalibrate
from jobs.upkeep.backups import back_up
from jobs.upkeep.status import show_status
from recurring_eval.records import RunLog
from storage.file.upkeep import compact, migrate, move_old_verdicts
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix

BENCHMARK = "bench"
FIRST = datetime(2025, 3, 3, 9, tzinfo=UTC)
QUESTIONS = tuple(f"q{number:03d}" for number in range(60))
CONFIG = "[defaults]\nsubset_sizes = [20]\nminimum_runs = 4\n"
assert HARNESSES  # imported before the fork, as is all that the jobs import when they run


def run_log(key: str, number: int) -> RunLog:
    """One full run; the later the number, the later the day."""
    rng = np.random.default_rng(number)
    n = len(QUESTIONS)
    chance = np.linspace(0.2, 0.95, n)
    return RunLog(
        run_key=key,
        benchmark=BENCHMARK,
        agent="coder",
        started_at=FIRST + timedelta(hours=6 * number),
        harness="table",
        question_ids=QUESTIONS,
        content_hashes=("",) * n,
        question_index=np.arange(n, dtype=np.int32),
        trial=np.ones(n, dtype=np.int16),
        outcome=(rng.random(n) < chance).astype(np.int8),
        reason_index=np.full(n, -1, dtype=np.int16),
        duration_s=np.full(n, np.nan),
        cost=np.full(n, np.nan),
    )


def app_on(folder: Path, day: date | None = None) -> App:
    """Surroundings on a day, or now."""
    clock = None if day is None else FixedClock(datetime.combine(day, FIRST.time(), tzinfo=UTC))
    return start_app(config=folder / "recurring-eval.toml", quiet=True, clock=clock)


def acknowledge(folder: Path, *keys: str) -> None:
    """Note, safe on the disk, runs of which the import has reported success."""
    with (folder / "acknowledged").open("a") as file:
        file.write("".join(f"{key}\n" for key in keys))
        file.flush()
        os.fsync(file.fileno())


def do_import(folder: Path, number: int) -> None:
    keys = [f"run-{number}-{part}" for part in range(2)]
    path = folder / f"runs-{number}.parquet"
    write_long_table(path, [run_log(key, number) for key in keys])
    report = import_runs(app_on(folder), [path], ImportOptions(create=True))
    assert report.n_refused == 0, report
    acknowledge(folder, *keys)


def do_recalibrate(folder: Path, number: int) -> None:
    day = (FIRST + timedelta(days=20 + number)).date()
    (result,) = recalibrate(app_on(folder, day), as_of=day, window="all")
    assert result.status in ("calibrated", "already done"), result


def do_backup(folder: Path, number: int) -> None:
    back_up(app_on(folder), keep=3)


def do_compact(folder: Path, number: int) -> None:
    compact(app_on(folder).settings.history)


def do_retain(folder: Path, number: int) -> None:
    app = app_on(folder, (FIRST + timedelta(hours=3 * number)).date())
    now = app.clock.now()
    with app.open_history() as history:
        move_old_verdicts(history, before=now - timedelta(days=1), now=now)


def do_migrate(folder: Path, number: int) -> None:
    app = app_on(folder)
    migrate(app.settings.history, backup_folder=app.settings.backups, now=app.clock.now())


WORK = {
    "import": do_import,
    "recalibrate": do_recalibrate,
    "backup": do_backup,
    "compact": do_compact,
    "retain": do_retain,
    "migrate": do_migrate,
}


def work(kind: str, folder: str, number: int) -> None:
    """One piece of work, in a process of its own."""
    WORK[kind](Path(folder), number)


def read_all(folder: Path) -> int:
    """Read everything as a report does; the number of runs."""
    app = app_on(folder)
    show_status(app)
    with app.open_history(read_only=True) as history:
        runs = list_runs(history, BENCHMARK)
        matrix = load_matrix(history, runs, QUESTIONS)
        assert (matrix.trials == 1).all()
    return len(runs)


def compete(role: str, folder: str, name: str, seconds: float) -> None:
    """Work until the time is over; note each round with how long it took, and any error."""
    place = Path(folder)
    ends = time.monotonic() + seconds
    number = 0
    with (place / f"log-{name}").open("w") as log:
        while time.monotonic() < ends:
            started = time.monotonic()
            try:
                if role == "import":
                    do_import(place, 1000 * int(name) + number)
                elif role == "recalibrate":
                    do_recalibrate(place, 100 * int(name) + number)
                else:
                    read_all(place)
                outcome = "fine"
            except BaseException:
                outcome = traceback.format_exc().replace("\n", " | ")
            log.write(f"{role}\t{time.monotonic() - started:.3f}\t{outcome}\n")
            log.flush()
            number += 1
