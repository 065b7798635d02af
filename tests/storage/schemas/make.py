"""Write a small history with the program as it is, to be kept when the schema moves on."""

import gzip
import math
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from recurring_eval.calibration.mirt import fit_mirt  # noqa: E402  # after the path
from recurring_eval.calibration.rasch import fit_rasch  # noqa: E402  # after the path
from recurring_eval.estimators import GpirtConstants  # noqa: E402  # after the path
from recurring_eval.hspr import HsprConfig, LatentPrior, calibrate_average  # noqa: E402  # after the path
from recurring_eval.methods.calibration import Calibration  # noqa: E402  # after the path
from recurring_eval.methods.registry import model_kinds  # noqa: E402  # after the path
from recurring_eval.records import (  # noqa: E402  # after the path
    MISSING,
    Bank,
    ReplayResidual,
    RunLog,
    ScoreEstimate,
)
from storage.calibrations.calibrations import CalibrationInfo, save_calibration  # noqa: E402  # after the path
from storage.calibrations.estimates import FullRunCheck, save_checks, save_estimate  # noqa: E402  # after the path
from storage.file.history import History  # noqa: E402  # after the path
from storage.ledger import JobStatus, finish_job, take_lease  # noqa: E402  # after the path
from storage.runs.benchmarks import create_benchmark, current_bank, save_bank  # noqa: E402  # after the path
from storage.runs.runs import list_runs  # noqa: E402  # after the path
from storage.runs.verdicts import load_matrix  # noqa: E402  # after the path
from storage.runs.write_runs import write_runs  # noqa: E402  # after the path

NOW = datetime(2026, 3, 1, 2, tzinfo=UTC)
QUESTIONS = tuple(f"q{number:02d}" for number in range(20))
METHODS = ("stratified+weighted", "stratified+gpirt", "stratified+pirt")


def log(number: int, outcome: np.ndarray) -> RunLog:
    n = len(QUESTIONS)
    return RunLog(
        run_key=f"run-{number}",
        benchmark="kept",
        agent="coder",
        started_at=NOW - timedelta(days=10 - number),
        harness="table",
        question_ids=QUESTIONS,
        content_hashes=("",) * n,
        question_index=np.arange(n, dtype=np.int32),
        trial=np.ones(n, dtype=np.int16),
        outcome=outcome.astype(np.int8),
        reasons=("timeout",),
        reason_index=np.where(outcome == MISSING, 0, -1).astype(np.int16),
        duration_s=np.full(n, np.nan),
        cost=np.full(n, np.nan),
    )


def derive(history: History) -> None:
    """Calibrations with every model and with the Rasch model alone, and a refit of the first."""
    runs = list_runs(history, "kept")
    matrix = load_matrix(history, runs, QUESTIONS[7:] + QUESTIONS[:7])
    hspr = calibrate_average(matrix, sources=np.array([4, 0, 2]))
    slope = hspr.model.slope.copy()
    slope[:3] = -0.0, 5e-324, 0.1 + 0.2
    hspr = replace(hspr, model=replace(hspr.model, slope=slope))
    plain = HsprConfig(latent=(LatentPrior(rank=0, precision=0.1 + 0.2),), kappa=math.inf)
    rasch = fit_rasch(matrix)
    full = Calibration(
        rasch=rasch,
        fitted={
            "mirt": fit_mirt(
                matrix, dimensions=2, discrimination_sd=0.5, held_out_log_likelihood=-0.7
            ),
            "hspr": hspr,
            "gpirt": GpirtConstants(outcome_variance=0.23, irt_bias=0.012345678901234567),
        },
    )
    refit = Calibration(
        rasch=rasch,
        fitted={
            "mirt": fit_mirt(matrix, dimensions=3, discrimination_sd=1.5),
            "hspr": replace(hspr, config=plain),
            "gpirt": GpirtConstants(outcome_variance=1 / 7, irt_bias=-0.0),
        },
    )
    residuals = [
        ReplayResidual(
            run_id=run.run_key,
            method=method,
            k=4,
            estimate=0.1 + 0.2,
            full_pass_rate=run.pass_rate,
            model_sd=1 / 3,
        )
        for method in (*METHODS, "hspr")
        for run in runs[2:]
    ]
    bank = current_bank(history, "kept")
    assert bank is not None
    info = CalibrationInfo(
        benchmark="kept",
        bank_version=bank.version,
        agent_family="main",
        date=date(2026, 2, 27),
        created_at=NOW - timedelta(days=1),
        data_end=runs[-1].started_at,
        n_runs=len(runs),
        model_fingerprint=rasch.fingerprint,
        settings={"window": "28d", "hspr": {"mode": "average"}},
    )
    kinds = model_kinds()
    save_calibration(history, info, full, residuals, kinds=kinds)
    save_calibration(
        history, replace(info, date=date(2026, 2, 28)), Calibration(rasch=rasch), kinds=kinds
    )
    last = save_calibration(
        history, replace(info, created_at=NOW), refit, residuals, kinds=kinds, supersede=True
    )
    for method in METHODS:
        estimate = ScoreEstimate(
            pass_rate=0.5,
            low=0.4,
            high=0.6000000000000001,
            rerun_low=0.3,
            rerun_high=0.7,
            level=0.9,
            method=method,
            n_asked=4,
            n_valid=3,
        )
        save_estimate(
            history, runs[1], estimate, k=4, subset_id=None, calibration_id=last, created_at=NOW
        )
        check = FullRunCheck(
            run_id=runs[4].run_id,
            run_key=runs[4].run_key,
            started_at=runs[4].started_at,
            method=method,
            k=4,
            subset_id=None,
            calibration_id=last,
            estimate=0.6,
            low=0.5,
            high=0.7,
            full_pass_rate=0.55,
            error_pp=5.0,
            covered=True,
            checked_at=NOW,
        )
        save_checks(history, [check])


def make(path: Path) -> None:
    rng = np.random.default_rng(1)
    outcomes = rng.integers(MISSING, 2, size=(5, len(QUESTIONS)))
    with History.create(path, now=NOW) as history:
        with history.transaction():
            create_benchmark(history, "kept", now=NOW)
            bank = Bank(benchmark="kept", question_ids=QUESTIONS, content_hashes=("",) * 20)
            save_bank(history, bank, now=NOW)
            logs = [log(number, outcome) for number, outcome in enumerate(outcomes)]
            write_runs(history, "kept", logs, imported_at=NOW)
        with history.transaction():
            changed = [log(0, 1 - np.abs(outcomes[0]))]
            write_runs(history, "kept", changed, imported_at=NOW, replace=True)
        with history.transaction():
            derive(history)
        for status in (JobStatus.FAILED, JobStatus.DONE):
            with history.transaction():
                attempt = take_lease(
                    history,
                    job="recalibrate",
                    benchmark="kept",
                    family="main",
                    date=date(2026, 3, 1),
                    owner="make.py",
                    now=NOW,
                    lease_for=timedelta(hours=1),
                )
                finish_job(history, attempt, status=status, message="", now=NOW)
        history.checkpoint()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "history.duckdb")
        make(made)
        target = Path(__file__).with_name(f"{sys.argv[1]}.duckdb.gz")
        target.write_bytes(gzip.compress(made.read_bytes(), mtime=0))
