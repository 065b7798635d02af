"""The night's multidimensional model: fitted with enough runs, else the ledger says why not."""

import shutil

import numpy as np
import pytest

from jobs.randomness import generator
from recurring_eval.calibration import select_mirt
from recurring_eval.errors import FitError
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.mirt_cat import MIRT, MIRT_CAT
from recurring_eval.methods.session import Session
from storage.calibrations.estimates import list_estimates
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from tests.jobs.histories import (
    BENCHMARK,
    command,
    latest_night,
    logs,
    night_of,
    pass_matrix,
    reading,
    start,
)
from tests.mirt_models import textbook_objective

N_DAYS = 16


def rasch_says(fitted, question, passes):
    """p-IRT of one answer under the Rasch model alone."""
    alone = Calibration(rasch=fitted.rasch)
    session = Session.start(MIRT_CAT, alone, k=2, rng=np.random.default_rng(0))
    return session.tell({question: (passes, 1)}).score().pass_rate[0]


def last_message(folder):
    with reading(folder) as history:
        return history.rows("SELECT message FROM job_run ORDER BY job_run_id")[-1][0]


def test_too_few_runs_and_the_ledger_says_so(calibrated):
    record = latest_night(calibrated)
    assert record.fitted.get(MIRT) is None
    assert record.info.n_runs < 80
    why = f"{record.info.n_runs} runs, it needs 80"
    assert record.fitted.without["mirt"] == why
    assert f"no M2PL: {why}" in last_message(calibrated)


@pytest.fixture(scope="module")
def long_project(tmp_path_factory):
    """A project with a night of more than eighty runs."""
    runs = logs(n_questions=60, runs_per_day=8)
    folder = start(tmp_path_factory.mktemp("long"), runs)
    command(folder, "recalibrate", "--as-of", str(night_of(N_DAYS)), "--no-report")
    return folder


def test_enough_runs_store_both_models_on_the_same_runs(long_project):
    record = latest_night(long_project)
    rasch, model = record.fitted.rasch, record.fitted[MIRT]
    with reading(long_project) as history:
        runs = [r for r in list_runs(history, BENCHMARK) if r.run_key in rasch.run_ids]
        matrix = load_matrix(history, runs, rasch.question_ids)
    assert record.info.n_runs >= 80
    assert (model.run_ids, model.question_ids) == (rasch.run_ids, rasch.question_ids)
    assert model.n_dimensions in (2, 5, 10, 15)
    described = (
        f"M2PL with {model.n_dimensions} dimensions, discrimination SD {model.discrimination_sd:g}"
    )
    assert described in last_message(long_project)
    # The parameters stored are those of the posterior that is stored with them.
    parameters = [model.ability.ravel(), model.discrimination.ravel(), model.difficulty]
    found, _ = textbook_objective(
        np.concatenate(parameters), matrix, model.n_dimensions, model.discrimination_sd
    )
    assert -found == pytest.approx(model.log_posterior, rel=1e-12)
    # No setting drawn by other held-out cells fits these verdicts much better.
    other = select_mirt(matrix, rng=np.random.default_rng(9))
    assert model.held_out_log_likelihood == pytest.approx(other.held_out_log_likelihood, abs=0.05)


def test_a_model_that_cannot_be_fitted_stops_neither_the_night_nor_sessions(
    long_project, tmp_path, monkeypatch
):
    project = shutil.copytree(long_project, tmp_path / "project")

    def fail(*_, **__):
        raise FitError("no luck tonight")

    monkeypatch.setattr("recurring_eval.methods.mirt_cat.select_mirt", fail)
    night = ("recalibrate", "--as-of", str(night_of(N_DAYS)), "--force", "--no-report")
    command(project, *night)
    record = latest_night(project)
    assert record.fitted.get(MIRT) is None
    assert "no M2PL: no luck tonight" in last_message(project)
    # The method works with the Rasch model then, and so do its residuals.
    assert "mirt-cat" in {residual.method for residual in record.residuals}
    start_session = ("adaptive", "start", "--method", "mirt-cat", "--k", "2", "--json")
    state = command(project, *start_session).document
    (question,) = state["questions"]
    told = ("adaptive", "tell", state["session_id"], f"{question}=pass", "--json")
    estimate = command(project, *told).document["estimate"]
    assert (estimate["method"], estimate["n_valid"]) == ("mirt-cat", 1)
    assert estimate["pass_rate"] == pytest.approx(rasch_says(record.fitted, question, 1), abs=1e-12)


def test_sessions_by_mirt_cat_ask_and_estimate_with_the_nights_model(long_project, tmp_path):
    project = shutil.copytree(long_project, tmp_path / "project")
    fitted = latest_night(project).fitted
    session = Session.start(
        MIRT_CAT, fitted, k=fitted.n_questions, rng=generator(7, "adaptive", "order")
    )
    start_session = ("adaptive", "start", "--method", "mirt-cat", "--k", "6", "--seed", "7")
    state = command(project, *start_session, "--json").document
    run = pass_matrix(project).iloc[-1]
    while state["questions"]:
        assert state["questions"] == list(session.ask())
        (question,) = state["questions"]
        word = "missing" if np.isnan(run[question]) else f"{int(run[question])}/1"
        told = ("adaptive", "tell", state["session_id"], f"{question}={word}", "--json")
        state = command(project, *told).document
        known = not np.isnan(run[question])
        session = session.tell({question: (int(known and run[question]), int(known))})
    assert state["n_valid"] == 6
    (score,) = session.score().pass_rate
    assert state["estimate"]["pass_rate"] == pytest.approx(score, abs=1e-12)
    command(project, "adaptive", "finish", "last")
    with reading(project) as history:
        (kept,) = list_estimates(history, BENCHMARK)
    assert kept.estimate.model_fingerprint == fitted[MIRT].fingerprint
    assert kept.estimate.theta.theta.shape == (fitted[MIRT].n_dimensions,)
    # Only a night without the model would ask otherwise.
    rasch = Session.start(
        MIRT_CAT, Calibration(rasch=fitted.rasch), k=6, rng=generator(7, "adaptive", "order")
    )
    assert rasch.score().pass_rate != session.score().pass_rate
