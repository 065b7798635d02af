"""The night's multidimensional model: fitted with enough runs, else the ledger says why not."""

import numpy as np
import pytest

from recurring_eval.calibration import select_mirt
from recurring_eval.errors import FitError
from storage.calibrations.calibrations import latest_calibration
from storage.runs.runs import list_runs
from storage.runs.verdicts import load_matrix
from tests.jobs.histories import BENCHMARK, command, logs, night_of, reading, start
from tests.mirt_models import textbook_objective

N_DAYS = 16


def last_message(folder):
    with reading(folder) as history:
        return history.rows("SELECT message FROM job_run ORDER BY job_run_id")[-1][0]


def test_too_few_runs_and_the_ledger_says_so(calibrated):
    with reading(calibrated) as history:
        record = latest_calibration(history, BENCHMARK, "main")
    assert record.mirt is None
    assert record.n_runs < 80
    needs = f"no M2PL: {record.n_runs} runs, it needs 80"
    assert needs in last_message(calibrated)


@pytest.fixture(scope="module")
def long_project(tmp_path_factory):
    runs = logs(n_questions=60, runs_per_day=8)
    return start(tmp_path_factory.mktemp("long"), runs)


def test_enough_runs_store_both_models_on_the_same_runs(long_project):
    day = night_of(N_DAYS)
    command(long_project, "recalibrate", "--as-of", str(day))
    with reading(long_project) as history:
        record = latest_calibration(history, BENCHMARK, "main")
        runs = [r for r in list_runs(history, BENCHMARK) if r.run_key in record.model.run_ids]
        matrix = load_matrix(history, runs, record.model.question_ids)
    model = record.mirt
    assert record.n_runs >= 80
    assert (model.run_ids, model.question_ids) == (record.model.run_ids, record.model.question_ids)
    assert model.n_dimensions in (2, 5, 10, 15)
    assert f"M2PL with {model.n_dimensions} dimensions" in last_message(long_project)
    # The parameters stored are those of the posterior that is stored with them.
    parameters = [model.ability.ravel(), model.discrimination.ravel(), model.difficulty]
    found, _ = textbook_objective(
        np.concatenate(parameters), matrix, model.n_dimensions, model.discrimination_sd
    )
    assert -found == pytest.approx(model.log_posterior, rel=1e-12)
    # No setting drawn by other held-out cells fits these verdicts much better.
    other = select_mirt(matrix, rng=np.random.default_rng(9))
    assert model.held_out_log_likelihood == pytest.approx(other.held_out_log_likelihood, abs=0.05)


def test_a_model_that_cannot_be_fitted_does_not_stop_the_night(long_project, monkeypatch):
    def fail(*_, **__):
        raise FitError("no luck tonight")

    monkeypatch.setattr("jobs.nights.fit.select_mirt", fail)
    day = night_of(N_DAYS)
    command(long_project, "recalibrate", "--as-of", str(day), "--force")
    with reading(long_project) as history:
        record = latest_calibration(history, BENCHMARK, "main")
    assert record.mirt is None
    assert "no M2PL: no luck tonight" in last_message(long_project)
