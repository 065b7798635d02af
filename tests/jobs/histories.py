"""Simulated projects for the tests of jobs, and plain views of what a history holds."""

import atexit
import os
import pickle
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

from jobs.app.app import App, start_app
from jobs.clock import FixedClock
from jobs.demo import write_long_table
from recurring_eval.methods.registry import model_kinds
from recurring_eval.records import RunLog
from recurring_eval.simulate import SimulationOptions, simulate_history, simulated_logs
from storage.calibrations.calibrations import (
    StoredCalibration,
    latest_calibration,
    load_calibration,
)
from storage.file.history import History
from tests.jobs.command_line import Outcome, invoke

FIRST_DAY: Final = date(2025, 3, 3)
N_DAYS: Final = 16
AS_OF: Final = date(2025, 3, 12)
"""Day 10: the night that the calibrated project has lived through."""
BENCHMARK: Final = "bench"
SIZES: Final = (20, 40)
TABLE: Final = "runs.parquet"
CONFIG: Final = f"""\
[defaults]
subset_sizes = {list(SIZES)}
minimum_runs = 4
"""


def without_settings(patch: pytest.MonkeyPatch) -> None:
    """Take settings of the environment away."""
    for name in os.environ:
        if name.startswith("RECURRING_EVAL_"):
            patch.delenv(name)


def night_of(day_number: int) -> date:
    """Date of a day of the simulated history, which starts with day 1."""
    return FIRST_DAY + timedelta(days=day_number - 1)


def logs(seed: int = 3, *, benchmark: str = BENCHMARK, **options: Any) -> list[RunLog]:
    """Runs of a small simulated history, oldest first."""
    settings: dict[str, Any] = {
        "n_questions": 120,
        "n_days": N_DAYS,
        "calibration_days": 8,
        "runs_per_day": 3.5,
        "first_day": FIRST_DAY,
        "mean_pass_rate": 0.7,
        "experiment_share": 0.2,
        "lost_passes": "missing",
    }
    simulated = simulate_history(
        SimulationOptions(**(settings | options)), rng=np.random.default_rng(seed)
    )
    return simulated_logs(simulated, benchmark=benchmark)


def until(day: date, runs: Sequence[RunLog]) -> list[RunLog]:
    """Those of the runs that started on a date or before it."""
    return [log for log in runs if log.started_at.date() <= day]


_MADE: Final = Path(mkdtemp(prefix="recurring-eval-tests-"))
"""Folders made once in this process, each to be copied."""
atexit.register(shutil.rmtree, _MADE, ignore_errors=True)


def copy_of(name: str, make: Callable[[Path], object], folder: Path) -> Path:
    """Copy into a folder what `make` puts into one, made once under this name."""
    made = _MADE / name
    if not made.exists():
        making = _MADE / "making" / name
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        make(making)
        making.rename(made)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder


def initialised(folder: Path) -> Path:
    """Put what `recurring-eval init` makes into a folder."""

    def make(making: Path) -> None:
        assert invoke("init", "--dir", making, "--quiet").code == 0

    return copy_of("initialised", make, folder)


def start(
    folder: Path,
    runs: Sequence[RunLog] = (),
    *,
    config: str = CONFIG,
    nights: Sequence[date] = (),
) -> Path:
    """Start a project in a folder, import the runs and recalibrate on the nights."""

    def make(making: Path) -> None:
        if nights:
            start(making, runs, config=config, nights=nights[:-1])
            command(making, "recalibrate", "--as-of", str(nights[-1]), "--no-report")
        elif runs:
            start(making, config=config)
            write_long_table(making / TABLE, runs)
            command(making, "import", making / TABLE, "--create")
        else:
            initialised(making)
            (making / "recurring-eval.toml").write_text(config)

    wanted = pickle.dumps((list(runs), config, list(nights)))
    return copy_of(sha256(wanted).hexdigest(), make, folder)


def command(folder: Path, *arguments: str | Path, code: int = 0) -> Outcome:
    """Run a command on the project in a folder; it must exit with this code."""
    name, *rest = arguments
    outcome = invoke(name, *rest, "--config", folder / "recurring-eval.toml", "--quiet")
    assert outcome.code == code, outcome
    return outcome


def app_on(folder: Path, day: date, hour: int = 23) -> App:
    """Surroundings of a job that runs on a day."""
    moment = datetime.combine(day, time(hour), tzinfo=UTC)
    return start_app(config=folder / "recurring-eval.toml", quiet=True, clock=FixedClock(moment))


def reading(folder: Path) -> History:
    """Open the project's history to look at it."""
    return History.open(folder / "history.duckdb", read_only=True)


def latest_night(
    folder: Path, family: str = "main", benchmark: str = BENCHMARK
) -> StoredCalibration:
    """The latest calibration of the project, with every model it has."""
    with reading(folder) as history:
        info = latest_calibration(history, benchmark, family)
        assert info is not None
        return load_calibration(history, info, model_kinds())


def tables(folder: Path, *, without: Sequence[str] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, to compare before and after."""
    with reading(folder) as history:
        names = history.rows(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'"
        )
        return {
            name: sorted(history.rows(f"SELECT * FROM {name}"), key=repr)
            for (name,) in names
            if name not in without
        }


def verdict_table(folder: Path, name: str = TABLE) -> pd.DataFrame:
    """Rows of the imported table: the independent source that tests compute from."""
    frame = pd.read_parquet(folder / name)
    frame["passed"] = frame["passed"].map({True: 1.0, False: 0.0}).astype(float)
    frame["day"] = frame["started_at"].dt.date
    return frame


def pass_matrix(folder: Path, name: str = TABLE) -> pd.DataFrame:
    """Passes (1, 0, NaN where missing) by run and question, runs in order of start."""
    frame = verdict_table(folder, name)
    order = frame.groupby("run_id")["started_at"].first().reset_index()
    order = order.sort_values(["started_at", "run_id"])["run_id"]
    wide = frame.pivot_table(
        index="run_id", columns="question_id", values="passed", dropna=False, aggfunc="mean"
    )
    return wide.loc[list(order)]


def covered(matrix: pd.DataFrame) -> pd.DataFrame:
    """Runs with valid verdicts on at least 80 % of the questions."""
    return matrix[matrix.notna().sum(axis=1) >= 0.8 * matrix.shape[1]]


def only(log: RunLog, keep: Callable[[str], bool], **changes: Any) -> RunLog:
    """The part of a run on some of its questions."""
    inside = np.array([keep(question) for question in log.question_ids])[log.question_index]
    fields = ("question_index", "trial", "outcome", "reason_index", "duration_s", "cost")
    return replace(log, **{name: getattr(log, name)[inside] for name in fields}, **changes)
