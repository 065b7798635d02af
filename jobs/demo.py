"""The demo: a simulated history is imported, recalibrated, and a release is tested on it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.app.app import App, start_app
from jobs.app.config import Settings
from jobs.app.console import Console
from jobs.clock import FixedClock
from jobs.estimating.checks import check_full_runs
from jobs.estimating.describe import describe
from jobs.estimating.run_estimates import estimate_run
from jobs.estimating.subsets import request_subset
from jobs.importing.import_runs import ImportOptions, import_runs
from jobs.nights.recalibrate import recalibrate
from jobs.pages.nightly import index_path, publish_nightly_reports
from jobs.randomness import generator
from jobs.upkeep.start_project import start_project
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, PASS, RunLog, RunPurpose
from recurring_eval.simulate import SimulationOptions, simulate_history, simulated_logs

DEMO_FOLDER: Final = "recurring-eval-demo"
BENCHMARK: Final = "demo-benchmark"
K: Final = 200
NIGHTS: Final = 3
CANDIDATE_DAY: Final = 46
"""Day on which the release candidate is tested; the days before it are history."""
_OPTIONS: Final = ImportOptions(create=True)
_PATHS: Final = ("history", "reports")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demo made and found.

    Attributes
    ----------
    report : Path
        Index of the reports.
    history : Path
    runs : int
        Runs in the history.
    estimate, full_pass_rate : float
        Pass rate estimated from 200 questions, and that of the full run.
    error_pp : float
        Estimate less full pass rate.
    seconds : float
        Wall time.
    """

    report: Path
    history: Path
    runs: int
    estimate: float
    full_pass_rate: float
    error_pp: float
    seconds: float


def run_demo(folder: Path | None, *, seed: int, console: Console) -> tuple[Demo, list[str]]:
    """Simulate 52 days, a few nights and a release, and return its figures and the story.

    Parameters
    ----------
    folder : Path or None
        Empty or missing; by default ``recurring-eval-demo`` or the next free name.
    seed : int
    console : Console
        Gets the progress.

    Raises
    ------
    InputError
        If `folder` has something in it.
    """
    start = perf_counter()
    folder = _free_folder(folder)
    options = SimulationOptions()
    history = simulate_history(options, rng=generator(seed, "demo"))
    logs = simulated_logs(history, benchmark=BENCHMARK)
    console.progress(f"simulated {len(logs)} runs of {options.n_questions} questions")

    morning = datetime.combine(options.first_day, time(2), tzinfo=UTC)
    project = start_project(folder, now=morning)
    past, candidate = _split(logs, history.day, history.is_routine)
    first_night = options.first_day + timedelta(days=CANDIDATE_DAY - 1 - NIGHTS)
    _write_days(folder / "logs", past)
    imported = import_runs(_app(project.config, console, first_night), [folder / "logs"], _OPTIONS)

    nights = [first_night + timedelta(days=back) for back in range(NIGHTS)]
    published = sum(_live_through(project.config, console, night) for night in nights)
    release_day = nights[-1] + timedelta(days=1)
    app = _app(project.config, console, release_day)
    subset = request_subset(app, k=K).record
    asked = set(subset.subset.question_ids)
    partial = _only(candidate, asked, subset_id=subset.subset_id)
    full = replace(candidate, run_key=f"{candidate.run_key}-full")
    for name, log in (("candidate-200", partial), ("candidate-full", full)):
        write_long_table(folder / "release" / f"{name}.parquet", [log])
    import_runs(app, [folder / "release" / "candidate-200.parquet"], _OPTIONS)
    estimate = estimate_run(app, partial.run_key)
    import_runs(app, [folder / "release" / "candidate-full.parquet"], _OPTIONS)
    check = check_full_runs(app, [full.run_key])
    row = next(r for r in check.rows if r.k == K and r.method == estimate.estimate.method)
    _live_through(project.config, console, release_day)
    verdict = "inside" if row.covered else "outside"
    demo = Demo(
        report=index_path(app),
        history=project.history,
        runs=imported.runs_added + 2,
        estimate=estimate.estimate.pass_rate,
        full_pass_rate=row.full_pass_rate,
        error_pp=row.error_pp,
        seconds=perf_counter() - start,
    )
    return (
        demo,
        [
            f"1. A team ran its {options.n_questions}-question benchmark {imported.runs_added} "
            f"times in {CANDIDATE_DAY - 1} days (simulated, seed {seed}).",
            f"2. `import` stored {imported.verdicts_added:,} verdicts in {project.history}.",
            f"3. `recalibrate` ran on {NIGHTS} nights: models refitted each time, {published} "
            "subsets published on the first and kept since.",
            f"4. Before a release `subset --k {K}` handed out {subset.subset_id}.",
            f"5. The candidate answered those {K} questions instead of {options.n_questions}; "
            "`estimate` said:",
            f"   {describe(estimate)[0]}",
            f"6. Then the candidate ran in full: {100 * row.full_pass_rate:.1f} %.",
            f"7. `check` found the estimate off by {row.error_pp:+.1f} pp, {verdict} its interval.",
            f"8. The night after refitted with it; the reports of all nights: {index_path(app)}",
            f"Try more: cd {folder}; recurring-eval status; recurring-eval subset --k 100",
        ],
    )


def _free_folder(folder: Path | None) -> Path:
    if folder is None:
        number = 1
        while (found := Path(DEMO_FOLDER if number == 1 else f"{DEMO_FOLDER}-{number}")).exists():
            number += 1
        return found
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder; choose another with --dir")
    return folder


def _app(config: Path, console: Console, day: date) -> App:
    """App of a simulated morning, when the nightly job runs."""
    clock = FixedClock(datetime.combine(day, time(2), tzinfo=UTC))
    # An environment that points at a team's own history must not lead the demo there.
    own = {key: config.parent / Settings.model_fields[key].default for key in _PATHS}
    return start_app(
        config=config, quiet=console.quiet, as_json=console.as_json, flags=own, clock=clock
    )


def _live_through(config: Path, console: Console, day: date) -> int:
    """Run the nightly job on the morning after a day; count the subsets it published."""
    app = _app(config, console, day + timedelta(days=1))
    results = recalibrate(app, as_of=day)
    publish_nightly_reports(app, results)
    return sum(len(result.published) for result in results)


def _split(
    logs: list[RunLog], days: np.ndarray, is_routine: np.ndarray
) -> tuple[list[RunLog], RunLog]:
    """Past runs, and the first routine run of the candidate's day or later."""
    past = [log for log, day in zip(logs, days, strict=True) if day < CANDIDATE_DAY]
    first = np.flatnonzero((days >= CANDIDATE_DAY) & is_routine)
    return past, replace(logs[int(first[0])], purpose=RunPurpose.CANDIDATE)


def _write_days(folder: Path, logs: list[RunLog]) -> None:
    by_day: dict[date, list[RunLog]] = {}
    for log in logs:
        by_day.setdefault(log.started_at.date(), []).append(log)
    for day, of_day in by_day.items():
        write_long_table(folder / f"{day}.parquet", of_day)


def _only(log: RunLog, asked: set[str], *, subset_id: str) -> RunLog:
    """Cut a run down to what it would have answered, had it been asked a subset only."""
    return replace(log.within(asked), run_key=f"{log.run_key}-k{K}", subset_id=subset_id)


def write_long_table(path: Path, logs: Sequence[RunLog]) -> None:
    """Write one row per run, question and trial.

    Parameters
    ----------
    path : Path
        Its folder is made when missing.
    logs : sequence of RunLog
        At least one.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.concat_tables([_table(log) for log in logs]), path)


def _table(log: RunLog) -> pa.Table:
    n = len(log.outcome)
    reasons = np.array([*log.reasons, None], dtype=object)[log.reason_index]
    questions = np.array(log.question_ids, dtype=object)[log.question_index]
    passed = pa.array(log.outcome == PASS, mask=log.outcome == MISSING)

    def constant(value: str | None) -> pa.Array:
        return pa.array([value] * n, pa.string())

    return pa.table(
        {
            "benchmark": constant(log.benchmark),
            "run_id": constant(log.run_key),
            "question_id": pa.array(questions, pa.string()),
            "trial": pa.array(log.trial),
            "passed": passed,
            "error": pa.array(reasons, pa.string()),
            "started_at": pa.array([log.started_at] * n, pa.timestamp("us", tz="UTC")),
            "agent": constant(log.agent),
            "config_hash": constant(log.agent_config or None),
            "agent_family": constant(log.agent_family),
            "purpose": constant(log.purpose.value),
            "subset_id": constant(log.subset_id),
            "session_id": constant(log.session_id),
        }
    )
