"""Start a project: a commented configuration and an empty history."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from jobs.app.config import CONFIG_NAME
from recurring_eval.errors import InputError
from storage.file.history import History

CONFIG_TEXT: Final = """\
# Settings of recurring-eval. Every value below is the default: a line may be
# deleted without effect. Command-line flags win over environment variables
# (RECURRING_EVAL_SEED, RECURRING_EVAL_DEFAULTS__LEVEL, ...), which win over this file.

# Where runs and verdicts are kept, and where reports go; relative to this file's folder.
history = "history.duckdb"
reports = "recurring-eval-reports"

# Where `recurring-eval backup` puts its copies, and how many of them it keeps.
backups = "recurring-eval-backups"
keep_backups = 14

# Root of every random choice: the same seed and history give the same results.
seed = 0

# Settings of every benchmark. A table [benchmark.NAME] takes the same keys for one.
[defaults]

# The nightly job prepares a subset for each of these numbers of questions;
# sizes not below the number of questions of a benchmark are skipped.
subset_sizes = [100, 200, 300, 400]

# Full runs of the last days calibrate the questions ("all" for the whole history).
# A window with fewer than minimum_runs is extended backwards until it holds them.
window = "28d"
minimum_runs = 30

# Nominal coverage of the intervals around an estimate.
level = 0.9

# Method `hspr` asks question by question, guided by past full runs. "average" weighs
# several settings by how well they explain a run; "staged" chooses one of them on past
# runs every night, which takes longer; "off" leaves the method out.
hspr = "average"

# A question is settled, and its verdict may be reused, when on the `days` days
# before today it was tried at least min_trials times and at most a share epsilon
# of those trials disagreed. Reused is the "majority" verdict, or the pass "rate".
[defaults.cache]
days = 7
epsilon = 0.05
min_trials = 5
use = "majority"

# A verdict lost to an error, timeout, skip, ... is missing, not a fail. To count
# some reason as a fail instead, say so here, or in [benchmark.NAME.missing].
# Reasons: error, timeout, skipped, "not run", invalidated.
[defaults.missing]
# timeout = "fail"

# `recurring-eval schedule` recalibrates every benchmark each night at this time of
# its zone, makes up for nights it missed up to catch_up_days back, retries a
# failed night (after retry_after, twice that, ... up to longest_retry) until `attempts`
# failed, writes the report, backs up, and raises an alert after alert_after without
# a successful night. [benchmark.NAME.schedule] takes the keys of the first part.
[schedule]
enabled = true
at = "02:00"
zone = "UTC"
attempts = 5
retry_after = "10m"
longest_retry = "6h"
catch_up_days = 30

# A full run is planned so long after the last one; `status` shows when it is due. The
# command, if there is one, starts it; it is a list of program and arguments, no shell.
# full_run_every = "7d"
# full_run_command = ["./full-run.sh", "{benchmark}", "{family}", "{date}"]
full_run_timeout = "12h"

# The daemon itself: how often it checks, notes that it is alive, and how long one job may
# take before another process takes it over; and how long it may take to stop.
check_every = "1m"
heartbeat_every = "5m"
lease = "30m"
stop_within = "20s"
report = true
backup = true
alert_after = "36h"

# Folders whose new and changed files are imported once they rest for `settle`.
# [[watch]]
# path = "logs"
# benchmark = "my-benchmark"
# harness = "auto"
# purpose = "routine"
# settle = "10s"

# `recurring-eval retain` moves verdicts of runs older than this many days to Parquet
# files beside the history, from where they are still read. By default all stay.
[retention]
# verdicts_days = 365

# `recurring-eval replay` spreads over processes of this machine (loky), or over a Dask
# or Ray cluster whose package you install; without an address one is started here.
[replay]
backend = "loky"
# address = "tcp://scheduler:8786"

# One benchmark's own settings. Naming a benchmark here also lets `import` create it.
# [benchmark.my-benchmark]
# window = "90d"

# Purpose and family of runs, by agent, tag or benchmark (* matches anything); the
# first rule that matches wins. Purposes: routine (the default: the product as
# shipped), candidate, experiment. Runs of one family share a calibration.
# [[rules]]
# tag = "branch:*"
# purpose = "experiment"
# [[rules]]
# agent = "small-*"
# family = "small"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedProject:
    """The two files of a new project."""

    config: Path
    history: Path


def start_project(folder: Path, *, now: datetime, config: Path | None = None) -> StartedProject:
    """Write a commented configuration and an empty history.

    Parameters
    ----------
    folder : Path
        Made when missing.
    now : datetime
        Aware; noted in the history.
    config : Path or None
        The configuration file to write, by default `folder`/recurring-eval.toml;
        the history goes beside it.

    Raises
    ------
    InputError
        If either file exists; nothing is written then.
    """
    config = (config or folder / CONFIG_NAME).absolute()
    history = config.parent / "history.duckdb"
    for existing in (config, history):
        if existing.exists():
            raise InputError(f"{existing} exists already; remove it, or choose another folder")
    try:
        config.parent.mkdir(parents=True, exist_ok=True)
        History.create(history, now=now).close()
        with config.open("x", encoding="utf-8") as file:
            file.write(CONFIG_TEXT)
    except OSError as error:
        raise InputError(f"{config.parent}: cannot start a project: {error.strerror}") from None
    return StartedProject(config=config, history=history)
