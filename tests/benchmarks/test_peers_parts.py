"""Parts of the comparison with other packages, on cases whose answer is known; nothing is run."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks.peers.agreement import (
    Agreement,
    agreement,
    informative,
    on_one_scale,
    standardised,
)
from tests.benchmarks.peers.check import disagreements
from tests.benchmarks.peers.environment import (
    REPOSITORY,
    PeersError,
    build_environment,
    installed,
    last_line,
)
from tests.benchmarks.peers.measure import LEAST, Place, Row, compare_fits, step_shares
from tests.benchmarks.peers.problems import Parameters, StepProblem, fit_problem, step_problem
from tests.benchmarks.peers.table import agreement_table, as_json, ratio_table, two_digits


def logits(found: Parameters) -> np.ndarray:
    return np.outer(found.ability, found.slope) - found.intercept


def random_parameters(rng: np.random.Generator) -> Parameters:
    return Parameters(
        slope=rng.lognormal(0, 0.3, 40),
        intercept=rng.normal(0, 1.5, 40),
        ability=rng.normal(0.4, 2.0, 30),
    )


def test_alignment_keeps_every_probability_and_undoes_shift_scale_and_mirror():
    found = random_parameters(np.random.default_rng(1))
    moved = Parameters(
        slope=-3.0 * found.slope,
        intercept=found.intercept + 2.0 * found.slope,
        ability=(found.ability + 2.0) / -3.0,
    )
    np.testing.assert_allclose(logits(moved), logits(found))
    one, other = standardised(found), standardised(moved)
    np.testing.assert_allclose(logits(one), logits(found))
    assert (one.ability.mean(), one.ability.std()) == pytest.approx((0.0, 1.0))
    for name in ("slope", "intercept", "ability"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-12)


def test_rasch_scale_needs_no_abilities_and_leaves_questions_out():
    found = Parameters(
        slope=np.ones(4), intercept=np.array([5.0, 1.0, 3.0, np.nan]), ability=np.array([])
    )
    questions = np.array([False, True, True, True])
    aligned = on_one_scale(found, model="rasch", questions=questions)
    np.testing.assert_array_equal(aligned.intercept, [-1.0, 1.0, np.nan])


def test_agreement_is_over_values_finite_in_both():
    found = agreement(np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.0, 4.0, 7.0, 4.0]))
    assert found.n == 3
    assert found.rmse == pytest.approx(np.sqrt(4 / 3))
    assert found.correlation == pytest.approx(np.corrcoef([1, 2, 4], [1, 4, 4])[0, 1])


def test_informative_questions_have_both_verdicts():
    verdicts = np.array([[1, 0, 1, -1], [1, 0, 0, 1]], dtype=np.int8)
    np.testing.assert_array_equal(informative(verdicts), [False, False, True, False])


def test_problem_has_the_size_missing_share_and_pass_rate_it_says(tmp_path: Path):
    problem = fit_problem("2pl", missing=0.1, rng=np.random.default_rng(3))
    assert problem.verdicts.shape == (287, 519)
    assert (problem.verdicts < 0).mean() == pytest.approx(0.1, abs=0.005)
    valid = problem.verdicts >= 0
    expected = 1 / (1 + np.exp(-logits(problem.truth)))
    assert problem.verdicts[valid].mean() == pytest.approx(expected[valid].mean(), abs=0.005)
    with np.load(problem.write(tmp_path, epochs=7)) as written:
        assert {"truth", "slope", "intercept", "ability"}.isdisjoint(written.files)
        np.testing.assert_array_equal(written["verdicts"], problem.verdicts)


def test_shares_tell_an_equally_good_choice_from_a_worse_one():
    problem = StepProblem(
        name="step-rasch",
        model="rasch",
        slope=np.ones(3),
        intercept=np.array([-1.0, 1.0, 2.0]),
        verdicts=np.array([1, 0, 0], dtype=np.int8),
        k=1,
    )
    ours = {"chosen": [0], "abilities": [0.3]}
    tie = step_shares(problem, ours, {"chosen_at_our_states": [1]})
    assert list(tie.values()) == pytest.approx([0.0, 1.0])
    worse = step_shares(problem, ours, {"chosen_at_our_states": [2]})
    p = 1 / (1 + np.exp([-1.0, 2.0]))
    assert list(worse.values()) == pytest.approx([0.0, np.divide(*(p * (1 - p))[::-1])])


def test_our_workers_find_the_parameters_they_were_not_shown(tmp_path: Path):
    place = Place(environment=tmp_path, folder=tmp_path, epochs=1, progress=lambda text: None)
    problem = fit_problem("rasch", missing=0.1, rng=np.random.default_rng(4), m=120, n=60)
    found = place.run("fit_ours.py", problem.write(tmp_path, epochs=1), ours=True)
    questions = informative(problem.verdicts)
    truth = problem.truth.intercept[questions]
    assert np.corrcoef(np.array(found["intercept"])[questions], truth)[0, 1] > 0.97
    assert found["cpu_seconds"] > 0
    steps = step_problem("2pl", k=5, rng=np.random.default_rng(5), n=50)
    run = place.run("step_ours.py", steps.write(tmp_path), ours=True)
    assert len(set(run["chosen"])) == len(run["abilities"]) == 5


def test_absent_peer_is_a_row_with_the_reason(tmp_path: Path):
    place = Place(environment=tmp_path, folder=tmp_path, epochs=1, progress=lambda text: None)
    problem = fit_problem("rasch", missing=0.0, rng=np.random.default_rng(6), m=20, n=10)
    reasons = {"girth": "no wheel for this Python", "py-irt": "ERROR: no torch"}
    rows = compare_fits(problem, place, reasons)
    assert [row.reason for row in rows] == list(reasons.values())
    assert "not run: no wheel for this Python" in ratio_table(rows)
    assert json.loads(as_json(rows, {}))["rows"][0]["ratio"] is None
    assert disagreements(rows) == []


def example_row(correlation: float, our_rmse: float, least_information: float) -> Row:
    return Row(
        task="fit-rasch-complete",
        peer="girth",
        version="0.8.0",
        our_seconds=0.05,
        their_seconds=10.0,
        agreements={
            "difficulty: theirs and ours": Agreement(correlation=correlation, rmse=0.1, n=9),
            "difficulty: theirs and truth": Agreement(correlation=0.9, rmse=0.2, n=9),
            "difficulty: ours and truth": Agreement(correlation=0.9, rmse=our_rmse, n=9),
        },
        shares={LEAST: least_information},
    )


def test_check_names_each_tolerance_that_is_missed():
    assert disagreements([example_row(0.999, 0.2, 1.0)]) == []
    assert len(disagreements([example_row(0.9, 0.5, 0.5)])) == 3
    assert len(disagreements([example_row(float("nan"), 0.2, 1.0)])) == 1


def test_tables_give_ours_over_theirs():
    row = example_row(0.999, 0.2, 1.0)
    assert "| girth 0.8.0 | 0.050 | 10 | 0.0050 |" in ratio_table([row])
    assert "| difficulty | 9 | 0.9990, 0.10 | 0.9000, 0.20 | 0.9000, 0.20 |" in agreement_table(
        [row]
    )
    assert json.loads(as_json([row], {"seed": 1}))["rows"][0]["ratio"] == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("value", "text"), [(1234.4, "1234"), (10.0, "10"), (2.345, "2.3"), (0.000123, "0.00012")]
)
def test_two_digits(value: float, text: str):
    assert two_digits(value) == text


def test_environment_stays_outside_the_repository_and_says_when_it_is_not_there(tmp_path: Path):
    with pytest.raises(PeersError, match="inside the repository"):
        build_environment(REPOSITORY / "peers-environment")
    with pytest.raises(PeersError, match="build the environment"):
        installed(tmp_path)


def test_reason_is_the_last_error_that_pip_gives():
    text = "WARNING: x\nERROR: no version\nERROR: No matching distribution\n[notice] new pip\n"
    assert last_line(text) == "ERROR: No matching distribution"
    assert last_line("Traceback\nValueError: bad\n") == "ValueError: bad"
    assert last_line("") == "no message"
