"""Against exact posteriors of tiny banks, computed independently by enumeration."""

import json

import numpy as np
import pytest

from recurring_eval.calibration.logistic_items import fit_logistic_items, standardised_abilities
from recurring_eval.hspr.acquisition import choose_group, gains
from recurring_eval.hspr.evaluation import Evaluation, question_order
from recurring_eval.hspr.group_rates import Outcome
from recurring_eval.hspr.items import fit_zero_inflated_beta
from recurring_eval.hspr.model import signature_groups
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.hspr.proposal import GroupCounts, map_proposal
from recurring_eval.hspr.result import score_posterior
from tests.recurring_eval.hspr.builders import config_of, model_of_groups, place
from tests.shared_data import shared_path

N_CASES = 7


def oracle():
    return json.loads(shared_path("hspr-oracle-cases.json").read_text())


def case_number(i):
    case = oracle()["cases"][i]
    model = model_of_groups(
        case["group_of_task"], case["group_b"], case["group_a"], case.get("group_v")
    )
    if case["rank"]:
        assert case["P"] == [0.25, 4.0]
        settings = (1, 4.0)
    else:
        settings = (0, case["ability_precision"])
    return case, model, settings


def history(case):
    return [
        Outcome(case["group_of_task"][task], float(y), float(1 - y))
        for task, y in case["observations"]
    ]


def observed_posterior(case, model, config, n_nodes):
    posterior = NodePosterior(model, config, n_nodes=n_nodes)
    for outcome in history(case):
        posterior.count(outcome)
    return posterior


def on_dense_grid(case, model, settings):
    """The posterior on a trapezoidal grid fine enough to be exact to 1e-8."""
    config = config_of(*settings, kappa=case["kappa"], double_precision=True)
    reach = 12.0 if case["rank"] == 0 else 8.0
    points = 4001 if case["rank"] == 0 else 321
    sd = config.latent[0].diagonal ** -0.5
    axes = [np.linspace(-reach, reach, points) * s for s in sd]
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")])
    posterior = observed_posterior(case, model, config, nodes.shape[1])
    place(posterior, nodes, -(config.latent[0].diagonal @ nodes**2) / 2.0)
    return posterior


def score_of(case, model, posterior):
    passes = sum(y for _, y in case["observations"])
    return score_posterior(
        posterior,
        posterior.unasked.astype(np.intp),
        observed_passes=float(passes),
        n_questions=model.n_questions,
    )


@pytest.mark.parametrize("i", range(N_CASES))
def test_dense_grid_gives_the_exact_posterior_of_the_score(i):
    case, model, settings = case_number(i)
    exact = case["exact"]
    score = score_of(case, model, on_dense_grid(case, model, settings))
    assert score.mean == pytest.approx(exact["mean_S"], abs=1e-6)
    assert score.sd**2 == pytest.approx(exact["var_S"], rel=1e-5)
    if "pmf" in exact:
        offset = exact["pmf_NS_offset"]
        pmf = score.distribution.pmf[offset : offset + len(exact["pmf"])]
        assert pmf == pytest.approx(np.array(exact["pmf"]), abs=1e-6)
        assert score.median == pytest.approx(exact["median_S"], abs=1e-12)


@pytest.mark.parametrize("double_precision", [True, False])
@pytest.mark.parametrize("i", range(N_CASES))
def test_8192_nodes_are_close_to_the_exact_posterior(i, double_precision):
    case, model, settings = case_number(i)
    exact = case["exact"]
    config = config_of(*settings, kappa=case["kappa"], double_precision=double_precision)
    posterior = observed_posterior(case, model, config, 8192)
    posterior.refresh()
    score = score_of(case, model, posterior)
    assert score.mean == pytest.approx(exact["mean_S"], abs=3e-4)
    if "median_S" in exact:
        assert score.median == pytest.approx(exact["median_S"], abs=1e-12)
    askable = posterior.unasked > 0
    measured = gains(posterior, askable)
    for group, gain in enumerate(exact["gain_score_by_group"]):
        if gain is None:
            assert measured[group] == -np.inf
        else:
            assert measured[group] == pytest.approx(gain, rel=0.01)
    best = max(
        (g for g, gain in enumerate(exact["gain_score_by_group"]) if gain is not None),
        key=lambda g: exact["gain_score_by_group"][g],
    )
    assert choose_group(posterior, askable) == best


@pytest.mark.parametrize("i", [i for i in range(N_CASES) if i not in (3, 6)])
def test_latent_gains_are_those_of_enumeration(i):
    case, model, settings = case_number(i)
    posterior = on_dense_grid(case, model, settings)
    object.__setattr__(
        posterior,
        "config",
        config_of(*settings, kappa=case["kappa"], acquisition="latent", double_precision=True),
    )
    measured = gains(posterior, posterior.unasked > 0)
    for group, gain in enumerate(case["exact"]["gain_latent_by_group"]):
        if gain is not None:
            assert measured[group] == pytest.approx(gain, rel=1e-5)


@pytest.mark.parametrize("i", range(N_CASES))
def test_mode_and_schur_precision_of_the_proposal(i):
    case, model, (rank, _) = case_number(i)
    posterior = observed_posterior(case, model, config_of(rank, 1.0), 8)
    seen = np.flatnonzero(posterior.passes + posterior.fails)
    prior = np.array(case["P"] if rank else [case["ability_precision"]])
    proposal = map_proposal(
        GroupCounts(
            intercept=model.intercept[seen],
            loadings=model.loadings(rank)[seen],
            passes=posterior.passes[seen],
            fails=posterior.fails[seen],
        ),
        prior,
        case["kappa"],
    )
    exact = case["map_proposal"]
    assert proposal.mean == pytest.approx(np.atleast_1d(exact["mean"]), abs=1e-6)
    assert proposal.precision == pytest.approx(np.atleast_2d(exact["precision"]), abs=1e-6)


@pytest.mark.parametrize("i", [i for i in range(N_CASES) if i not in (3, 6)])
def test_item_fit_given_the_initial_logits(i):
    case, model, _ = case_number(i)
    cells = np.array(case["M"], dtype=float)
    ones = np.ones(cells.shape)
    ability = standardised_abilities(cells, ones)
    assert ability == pytest.approx(np.array(case["theta_source"]), abs=1e-9)
    intercept, slope = fit_logistic_items(cells, ones, ability, np.array(case["b0"]))
    assert intercept == pytest.approx(np.array(case["b"]), abs=1e-6)
    assert slope == pytest.approx(np.array(case["a"]), abs=1e-6)
    passes = np.array(case["M"], dtype=np.int16)
    assert signature_groups(passes, np.ones_like(passes)).tolist() == case["group_of_task"]
    assert model.n_groups == len(case["group_b"])


def test_zero_inflated_beta_reaches_the_published_maximum():
    case = oracle()["zib_case"]
    passes = np.repeat(np.arange(11.0), case["counts_of_h_0_to_10"])
    sources = np.full_like(passes, case["m"])
    fit = fit_zero_inflated_beta(passes, sources)
    assert fit.zero_mass == pytest.approx(case["pi"], rel=1e-3)
    assert fit.alpha == pytest.approx(case["alpha"], rel=1e-3)
    assert fit.beta == pytest.approx(case["beta"], rel=1e-3)
    rates = fit.initial_rates(np.array([0.0, 3.0]), np.array([10.0, 10.0]))
    assert rates == pytest.approx([case["rate_h0"], case["rate_h3"]], rel=2e-3)


def test_evaluation_asks_what_the_exact_gains_say():
    case, model, settings = case_number(4)
    evaluation = Evaluation(model, config_of(*settings), question_order(model, None))
    for task, y in case["observations"]:
        evaluation.record((task, y, 1))
    exact = [-1.0 if g is None else g for g in case["exact"]["gain_score_by_group"]]
    (question,) = evaluation.next_questions(1)
    assert case["group_of_task"][question] == int(np.argmax(exact))
