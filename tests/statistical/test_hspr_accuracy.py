"""Accuracy of HSPR on the public banks and on a simulated production history.

Figures of one fold assignment scatter: with 14 agents by half a point of MAE, with 134
by a tenth. The bounds are those that averages over assignments should keep. The
measurements take minutes each and stand in docs/hspr-results.md; the statistical
suite repeats a part of them.
"""

import numpy as np
import pytest

from recurring_eval.hspr import calibrate_average, fit_sources, thin_sources
from recurring_eval.simulate import SimulationOptions, simulate_history
from tests.reference.hspr_diagnostics import integration_resolution
from tests.reference.hspr_runs import run_checkpoints, start_session
from tests.response_matrices import read_wide_csv
from tests.shared_data import shared_path
from tests.statistical.hspr_folds import ablation_table, average, folds, measure, staged

statistical = pytest.mark.statistical
measurement = pytest.mark.measurement


def bank(name):
    return read_wide_csv(shared_path(f"data/{name}.csv"))


@statistical
def test_average_on_a_part_of_pro():
    found, _ = measure(
        bank("swebench_pro"), average, splits=range(3), seeds=1, fractions=(0.05, 0.1, 0.2)
    )
    five, ten, twenty = (row.mae for row in found)
    print(f"\nPro, 3 assignments: 5 % {five:.3f}, 10 % {ten:.3f}, 20 % {twenty:.3f} pp")
    # With so few assignments 10 and 20 % may change places.
    assert five > max(ten, twenty)
    assert ten <= 2.1
    assert found[1].tau >= 0.86


@statistical
def test_average_on_a_fold_of_verified():
    matrix = bank("swebench_verified")
    target_rows = folds(matrix.n_runs, split=0)[0]
    model = fit_sources(matrix.select_runs(np.setdiff1d(np.arange(matrix.n_runs), target_rows)))
    truth = matrix.pass_rates()
    errors = [
        [
            100 * (result.pass_rate - truth[row])
            for result in run_checkpoints(
                model,
                matrix.passes[row],
                matrix.trials[row],
                budgets=(25, 50, 100),
                config=average(None, None),
                rng=np.random.default_rng(int(row)),
            )
        ]
        for row in target_rows
    ]
    five, ten, twenty = np.abs(errors).mean(axis=0)
    print(f"\nVerified, one fold: 5 % {five:.3f}, 10 % {ten:.3f}, 20 % {twenty:.3f} pp")
    assert five > ten > twenty
    # A fold of 34 agents scatters by some tenths around the 1.95 of whole assignments.
    assert ten <= 2.3


@measurement
def test_average_on_pro_and_its_budgets():
    found, _ = measure(
        bank("swebench_pro"),
        average,
        splits=range(6),
        seeds=2,
        fractions=(0.05, 0.1, 0.15, 0.2),
    )
    for fraction, row in zip((5, 10, 15, 20), found, strict=True):
        print(f"\nPro {fraction} %: average {row}", end="")
    mae = [row.mae for row in found]
    assert mae == sorted(mae, reverse=True)
    assert mae[1] <= 2.1
    assert found[1].max_error <= 6.5
    assert found[1].tau >= 0.86


@measurement
def test_average_on_verified_and_its_budgets():
    found, _ = measure(
        bank("swebench_verified"),
        average,
        splits=range(2),
        seeds=1,
        fractions=(0.05, 0.1, 0.15, 0.2),
    )
    for fraction, row in zip((5, 10, 15, 20), found, strict=True):
        print(f"\nVerified {fraction} %: average {row}", end="")
    mae = [row.mae for row in found]
    assert mae == sorted(mae, reverse=True)
    assert mae[1] <= 1.95
    assert found[1].max_error <= 8.5
    assert found[1].tau >= 0.9


@measurement
def test_staged_selection_on_pro():
    (found,), _ = measure(bank("swebench_pro"), staged, splits=range(6), seeds=2)
    print(f"\nPro 10 %: staged {found}")
    assert found.mae <= 2.5


@measurement
def test_staged_selection_on_verified():
    (found,), _ = measure(bank("swebench_verified"), staged, splits=range(2), seeds=1)
    print(f"\nVerified 10 %: staged {found}")
    assert found.mae <= 2.05


# D-optimal sessions in the multidimensional 2PL on the same runs, k = 100 and 200.
MIRT_CAT = {1: (1.532, 1.082), 2: (1.458, 1.004), 3: (1.585, 1.156)}


def production_mae(seed, budgets, *, every=1):
    """MAE in percentage points per budget, over every so-manieth test run."""
    history = simulate_history(SimulationOptions(), rng=np.random.default_rng(seed))
    matrix, rows = history.matrix, history.calibration_rows()
    calibration = matrix.select_runs(rows)
    sources = thin_sources(calibration, config_keys=[history.config_keys[i] for i in rows])
    assert len(sources) == 30
    model = fit_sources(calibration, sources=sources)
    truth = matrix.pass_rates()
    errors = []
    for row in history.test_rows()[::every]:
        results = run_checkpoints(
            model,
            matrix.passes[row],
            matrix.trials[row],
            budgets=budgets,
            config=average(None, None),
            rng=np.random.default_rng(int(row)),
            population=matrix.trials[row] > 0,
        )
        errors.append([100 * (result.pass_rate - truth[row]) for result in results])
    return np.abs(errors).mean(axis=0)


@statistical
def test_production_history_in_part():
    (mae,) = production_mae(1, (100,), every=3)
    print(f"\nsimulator 1, every third run: k=100 {mae:.3f} pp")
    assert mae <= MIRT_CAT[1][0] + 0.1


@measurement
@pytest.mark.parametrize(("name", "row"), [("swebench_pro", 3), ("swebench_verified", 40)])
def test_nodes_in_use_are_as_good_as_four_times_as_many(name, row):
    matrix = bank(name)
    others = np.delete(np.arange(matrix.n_runs), row)
    calibration = calibrate_average(matrix.select_runs(others))
    budget = round(0.1 * matrix.n_questions)
    session = start_session(calibration.model, calibration.config, rng=np.random.default_rng(0))
    position = {question: j for j, question in enumerate(matrix.question_ids)}
    while session.n_valid < budget:
        (question,) = session.ask()
        session = session.tell({question: (int(matrix.passes[row, position[question]]), 1)})
    found = integration_resolution(session)
    print(f"\n{name}: {found.coarse} against {found.fine} nodes differ by {found.difference:.1e}")
    assert found.passed


@measurement
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_production_history(seed):
    mae = production_mae(seed, (100, 200))
    print(f"\nsimulator {seed}: k=100 {mae[0]:.3f} pp, k=200 {mae[1]:.3f} pp")
    assert mae[0] <= MIRT_CAT[seed][0] + 0.1
    assert mae[1] <= MIRT_CAT[seed][1] + 0.1


@measurement
@pytest.mark.parametrize(("name", "splits"), [("swebench_pro", 6), ("swebench_verified", 2)])
def test_adaptive_queries_beat_static_ones(name, splits):
    table = ablation_table(bank(name), average, splits=range(splits), seeds=2, name=name)
    print(f"\n{table}")
    by_label = {line.split("|")[1].strip(): line.split("|")[2] for line in table.splitlines()[2:]}
    for static in ("uniform queries", "mid-range queries"):
        assert float(by_label[static]) > float(by_label["HSPR"])
