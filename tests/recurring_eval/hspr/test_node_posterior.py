"""The fast posterior against the paper's equations, written out naively, on the same nodes."""

import math

import numpy as np
import pytest

from recurring_eval.hspr.acquisition import choose_group, choose_groups, gains
from recurring_eval.hspr.config import HsprConfig, LatentPrior
from recurring_eval.hspr.evaluation import Evaluation, question_order
from recurring_eval.hspr.group_rates import Outcome
from recurring_eval.hspr.model import fit_sources
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.hspr.result import score_posterior
from tests.recurring_eval.hspr.builders import config_of, model_of_groups, place
from tests.reference import naive_hspr as naive
from tests.reference.hspr_runs import run_hspr
from tests.response_matrices import read_wide_csv
from tests.shared_data import shared_path

KAPPAS = [0.25, 1.0, 16.0, math.inf]


def random_model(seed=0, *, groups=25, questions=60, rank=2):
    rng = np.random.default_rng(seed)
    extra = rng.integers(0, groups, size=questions - groups)
    return model_of_groups(
        np.concatenate([np.arange(groups), extra]),
        rng.normal(-0.5, 2.0, groups),
        rng.uniform(0.4, 1.6, groups),
        rng.normal(0.0, 0.8, (groups, rank)),
    )


def naive_of(model, config):
    prior = config.latent[0]
    return naive.NaiveModel(
        group_of_question=np.array(model.group_of_question),
        b=np.array(model.intercept),
        loadings=model.loadings(prior.rank),
        precision=prior.diagonal,
        kappa=config.kappa,
    )


def posterior_after(model, config, outcomes, n_nodes=64):
    posterior = NodePosterior(model, config, n_nodes=n_nodes)
    posterior.refresh()
    for outcome in outcomes:
        posterior.observe(outcome)
    return posterior


def unit_outcomes(model, seed, count):
    rng = np.random.default_rng(seed)
    questions = rng.permutation(model.n_questions)[:count]
    passed = rng.random(count) < 0.5
    return [
        Outcome(int(model.group_of_question[q]), float(y), float(not y))
        for q, y in zip(questions, passed, strict=True)
    ]


def test_worked_example_k_of_the_method_specifications():
    # Groups in rows, nodes in columns.
    p = np.array([[0.2, 0.4], [0.6, 0.7]])
    logits = np.log(p / (1.0 - p))
    # Two nodes and two groups: a latent state of two coordinates hits the given logits.
    model = model_of_groups([0, 0, 0, 1, 1], logits[:, 0], [1.0, 1.0], [[0.0], [1.0]])
    step = logits[:, 1] - logits[:, 0]
    nodes = np.array([[0.0, step[0]], [0.0, step[1] - step[0]]])
    posterior = NodePosterior(model, config_of(1, 1.0, double_precision=True), n_nodes=2)
    posterior.count(Outcome(0, 1.0, 0.0))
    place(posterior, nodes, np.log([0.4, 0.6]))
    assert posterior.weights == pytest.approx([0.25, 0.75], abs=1e-12)
    score = score_posterior(posterior, np.array([2, 2]), observed_passes=1.0, n_questions=5)
    assert score.mean == pytest.approx(0.655873, abs=1e-6)
    assert score.sd**2 == pytest.approx(0.04553470, abs=1e-8)
    gain = gains(posterior, np.array([True, True]))
    assert gain == pytest.approx([0.01459492, 0.01308776], abs=1e-8)


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("acquisition", ["score", "latent"])
def test_gains_weights_and_moments_equal_the_naive_ones(kappa, acquisition):
    model = random_model()
    config = config_of(
        2, 1.0, kappa=kappa, acquisition=acquisition, double_precision=True, n_nodes=64
    )
    outcomes = unit_outcomes(model, 1, 20)
    posterior = posterior_after(model, config, outcomes)
    reference = naive_of(model, config)
    n = np.bincount([o.group for o in outcomes], minlength=model.n_groups).astype(float)
    s = np.bincount(
        [o.group for o in outcomes], [o.passes for o in outcomes], minlength=model.n_groups
    )
    start = naive.refresh(reference, np.zeros_like(n), np.zeros_like(s), 64)
    expected = naive.weigh(reference, start.z, start.base, n, s)
    assert posterior.weights == pytest.approx(expected.w, rel=1e-10)
    rule = naive.score_gains if acquisition == "score" else naive.latent_gains
    assert gains(posterior, posterior.unasked > 0) == pytest.approx(
        rule(reference, expected, n, s), rel=1e-9
    )
    score = score_posterior(
        posterior,
        posterior.unasked.astype(np.intp),
        observed_passes=float(s.sum()),
        n_questions=model.n_questions,
    )
    mean, variance = naive.score_moments(reference, expected, n, s, s.sum())
    assert (score.mean, score.sd**2) == pytest.approx((mean, variance), rel=1e-9)
    # A refresh recomputes the likelihood of the whole history from scratch.
    place(posterior, start.z, start.base)
    assert posterior.weights == pytest.approx(expected.w, rel=1e-10)


@pytest.mark.parametrize("kappa", KAPPAS)
def test_score_gain_is_the_expected_reduction_of_the_nodes_variance(kappa):
    model = random_model(3)
    config = config_of(2, 1.0, kappa=kappa, double_precision=True, n_nodes=64)
    outcomes = unit_outcomes(model, 2, 15)
    before = posterior_after(model, config, outcomes)
    gain = gains(before, before.unasked > 0)

    def variance(posterior, observed):
        return (
            score_posterior(
                posterior,
                posterior.unasked.astype(np.intp),
                observed_passes=observed,
                n_questions=model.n_questions,
            ).sd
            ** 2
        )

    passes = sum(o.passes for o in outcomes)
    for group in np.flatnonzero(before.unasked)[:12]:
        rare = float(before.rare[group] @ before.weights)
        rate = rare if before.sign[group] > 0 else 1.0 - rare
        failed = posterior_after(model, config, [*outcomes, Outcome(int(group), 0.0, 1.0)])
        passed = posterior_after(model, config, [*outcomes, Outcome(int(group), 1.0, 0.0)])
        after = rate * variance(passed, passes + 1) + (1 - rate) * variance(failed, passes)
        assert variance(before, passes) - after == pytest.approx(gain[group], abs=1e-9)
        assert variance(before, passes) - after == pytest.approx(gain[group], rel=1e-6)


def test_exact_pmf_and_lattice_expansion_agree():
    model = random_model(5, groups=80, questions=300)
    config = config_of(2, 1.0, double_precision=True)
    posterior = posterior_after(model, config, unit_outcomes(model, 4, 30), n_nodes=32)
    unasked = posterior.unasked.astype(np.intp)
    exact = score_posterior(posterior, unasked, observed_passes=12.0, n_questions=300)
    many = NodePosterior(model, config, n_nodes=1024)
    many.history, many.passes, many.fails = posterior.history, posterior.passes, posterior.fails
    many.unasked = posterior.unasked
    # The same 32 nodes, thirty-two times: too many to convolve.
    nodes = np.tile(posterior.components[0].nodes, 32)
    log_weights = np.tile(np.log(posterior.weights) - posterior._log_likelihood(), 32)
    place(many, nodes, log_weights)
    expanded = score_posterior(many, unasked, observed_passes=12.0, n_questions=300)
    assert expanded.mean == pytest.approx(exact.mean, rel=1e-10)
    pmf = expanded.distribution.pmf
    assert np.abs(np.cumsum(pmf) - np.cumsum(exact.distribution.pmf)).max() < 5e-4
    assert expanded.median == exact.median
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)
    assert pmf @ expanded.distribution.values == pytest.approx(expanded.mean, abs=2e-5)


@pytest.mark.parametrize("acquisition", ["score", "latent"])
@pytest.mark.parametrize("kappa", [1.0, math.inf])
def test_single_precision_path_is_the_naive_double_precision_path(kappa, acquisition):
    model = random_model(7, groups=40, questions=90)
    config = config_of(2, 1.0, kappa=kappa, acquisition=acquisition, n_nodes=256)
    rng = np.random.default_rng(3)
    outcomes = (rng.random(90) < 0.4).astype(int)
    order = question_order(model, rng)
    evaluation = Evaluation(model, config, order)
    for _ in range(60):
        (question,) = evaluation.next_questions(1)
        evaluation.record((question, int(outcomes[question]), 1))
    asked, *_ = naive.path(
        naive_of(model, config), outcomes, 60, order, 256, acquisition=acquisition
    )
    assert [question for question, _, _ in evaluation.answers] == asked


def test_equal_gains_ask_the_group_of_the_first_question():
    model = model_of_groups(np.arange(6), np.full(6, 0.3), np.ones(6))
    for double_precision in (False, True):
        posterior = NodePosterior(
            model, config_of(0, 1.0, double_precision=double_precision), n_nodes=64
        )
        posterior.refresh()
        assert choose_group(posterior, np.ones(6, dtype=bool)) == 0
        assert choose_group(posterior, np.arange(6) > 2) == 3


def test_a_batch_starts_with_the_single_choice_and_never_exceeds_a_group():
    model = random_model(9)
    posterior = posterior_after(model, config_of(2, 1.0), unit_outcomes(model, 1, 10))
    askable = posterior.unasked.astype(np.intp)
    batch = choose_groups(posterior, askable, 12)
    assert batch[0] == choose_group(posterior, askable > 0)
    assert (np.bincount(batch, minlength=model.n_groups) <= askable).all()
    everything = choose_groups(posterior, askable, int(askable.sum()))
    assert np.array_equal(np.bincount(everything, minlength=model.n_groups), askable)


def test_union_of_one_prior_twice_is_that_prior():
    model = random_model(11)
    prior = LatentPrior(rank=1, precision=1.0)
    outcomes = unit_outcomes(model, 6, 16)
    one = NodePosterior(model, HsprConfig(latent=(prior,)), n_nodes=512)
    two = NodePosterior(model, HsprConfig(latent=(prior, prior)), n_nodes=1024)
    for posterior in (one, two):
        for outcome in outcomes:
            posterior.count(outcome)
        posterior.refresh()
    assert two.weights[:512].sum() == pytest.approx(0.5, rel=1e-12)
    assert two.weights[:512] * 2 == pytest.approx(one.weights, rel=1e-12)
    assert gains(two, two.unasked > 0) == pytest.approx(gains(one, one.unasked > 0), rel=1e-4)


def test_latent_priors_weigh_by_their_marginal_likelihood():
    # One group: the likelihood of one pass integrates to E p under each ability prior.
    precisions = (0.25, 1.0)
    model = model_of_groups([0, 0], [0.7], [1.2])
    priors = tuple(LatentPrior(rank=0, precision=precision) for precision in precisions)
    posterior = NodePosterior(model, HsprConfig(latent=priors), n_nodes=2 * 8192)
    posterior.count(Outcome(0, 1.0, 0.0))
    posterior.refresh()
    theta = np.linspace(-24, 24, 40001)
    passed = 1 / (1 + np.exp(-0.7 - 1.2 * theta))
    exact = [
        np.trapezoid(math.sqrt(p / (2 * math.pi)) * np.exp(-p * theta**2 / 2) * passed, theta)
        for p in precisions
    ]
    weights = [float(posterior.weights[part.columns].sum()) for part in posterior.components]
    assert weights == pytest.approx(np.array(exact) / sum(exact), rel=1e-4)


def test_fractional_evidence_multiplies_up_to_whole_trials():
    model = model_of_groups([0, 0, 1], [0.2, -1.0], [1.0, 0.7])
    for kappa in KAPPAS:
        config = config_of(0, 1.0, kappa=kappa, double_precision=True)
        whole = posterior_after(model, config, [Outcome(0, 1.0, 0.0)])
        halves = NodePosterior(model, config, n_nodes=64)
        halves.refresh()
        halves.observe(Outcome(0, 0.5, 0.0))
        halves.unasked[0] += 1.0
        halves.observe(Outcome(0, 0.5, 0.0))
        if math.isinf(kappa):
            assert halves.weights == pytest.approx(whole.weights, rel=1e-12)
        else:
            # Beta functions add up along the way: B(A + 1, F) / B(A, F) in two steps.
            assert halves.weights == pytest.approx(whole.weights, rel=1e-9)


def test_fewer_nodes_on_the_path_keep_a_full_final_posterior():
    model = random_model(13, groups=40, questions=90)
    outcomes = (np.random.default_rng(0).random(90) < 0.4).astype(int)
    trials = np.ones(90, dtype=int)
    path_config = config_of(2, 1.0, path_nodes=64, n_nodes=4096)
    result = run_hspr(model, outcomes, trials, budget=30, config=path_config, rng=None)
    assert result.diagnostics.n_nodes == 4096
    asked = [model.question_ids.index(question) for question in result.asked]
    same_path = run_hspr(
        model,
        outcomes,
        trials,
        budget=30,
        config=config_of(2, 1.0, n_nodes=4096),
        rng=None,
        path=asked,
    )
    assert result.mean == pytest.approx(same_path.mean, abs=1e-3)
    assert question_order(model, None).tolist() == list(range(90))


@pytest.mark.parametrize("row", [11, 12, 13])
def test_paths_on_a_public_bank_are_the_naive_ones(row):
    matrix = read_wide_csv(shared_path("data/swebench_pro.csv"))
    model = fit_sources(matrix.select_runs(np.arange(11)))
    config = config_of(4, 1.0, n_nodes=256)
    order = question_order(model, np.random.default_rng(row))
    result = run_hspr(
        model,
        matrix.passes[row],
        matrix.trials[row],
        budget=60,
        config=config,
        rng=np.random.default_rng(row),
    )
    asked, posterior, n, s = naive.path(naive_of(model, config), matrix.passes[row], 60, order, 256)
    assert result.asked == tuple(model.question_ids[question] for question in asked)
    mean, variance = naive.score_moments(naive_of(model, config), posterior, n, s, s.sum())
    assert (result.mean, result.sd**2) == pytest.approx((mean, variance), rel=1e-5)
