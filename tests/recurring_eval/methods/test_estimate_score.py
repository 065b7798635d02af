"""estimate_score: what it composes, flags and refuses; names of methods."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.estimators import GpirtConstants
from recurring_eval.intervals import ConformalScale
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.estimate import estimate_score
from recurring_eval.methods.evidence import aligned_weights, gather_evidence
from recurring_eval.methods.fixed import GPIRT
from recurring_eval.methods.registry import METHODS, method_named
from recurring_eval.records import Flag, ScoreEstimate
from recurring_eval.subsets import stratified_subset
from tests.rasch_models import make_model

MODEL = make_model(np.linspace(-2, 2, 20), ability=(-3.0, 3.0))
SUBSET = stratified_subset(MODEL, "bank", 10)
SCALE = ConformalScale(residuals=np.linspace(-0.05, 0.05, 19), model_sd=np.full(19, 0.5))
ONES = np.ones(20, dtype=int)
HALF = (np.arange(20) % 2 == 0).astype(int)
EASY_HALF = (np.arange(20) < 10).astype(int)


def estimate_run(
    passes, trials=ONES, *, name="stratified", model=MODEL, subset=SUBSET, gpirt=None, **options
) -> ScoreEstimate:
    """Estimate one run; `subset` None is a full run."""
    population = options.pop("population", None)
    evidence = gather_evidence(
        Calibration(rasch=model, fitted={} if gpirt is None else {GPIRT.name: gpirt}),
        np.asarray(passes)[np.newaxis],
        np.asarray(trials)[np.newaxis],
        weights=None if subset is None else aligned_weights(model, subset),
        population=population,
    )
    return estimate_score(method_named(name), evidence, **options)


def test_interval_is_centred_with_the_conformal_half_width() -> None:
    estimate = estimate_run(EASY_HALF, scale=SCALE)
    assert estimate.pass_rate == pytest.approx(0.5)
    assert estimate.high - 0.5 == pytest.approx(0.5 - estimate.low)
    assert estimate.n_asked == estimate.n_valid == 10
    assert estimate.method == "stratified+weighted"
    assert estimate.model_fingerprint == MODEL.fingerprint
    assert estimate.flags == ()
    # u of ten unseen questions by hand, and t = ceil(.9 * 20)th of |e|/.5.
    assert estimate.theta is not None
    theta = estimate.theta.theta[0]
    p = 1 / (1 + np.exp(-(theta - MODEL.difficulty)))
    seen = np.array([q in SUBSET.question_ids for q in MODEL.question_ids])
    unseen_variance = (p * (1 - p))[~seen].sum()
    posterior = 1 / (0.05 + (p * (1 - p))[seen].sum())
    u = np.sqrt(unseen_variance + posterior * unseen_variance**2) / 20
    threshold = np.sort(np.abs(SCALE.residuals))[17] / 0.5
    assert estimate.high - 0.5 == pytest.approx(u * threshold)
    added = ((p * (1 - p))[seen].sum() - unseen_variance) / 400
    added += 2 * unseen_variance * posterior * (p * (1 - p))[seen].sum() / 400
    rerun = np.sqrt((u * threshold) ** 2 + stats.norm.ppf(0.95) ** 2 * added)
    assert estimate.rerun_high - 0.5 == pytest.approx(rerun)


def test_a_full_run_is_exact_and_its_rerun_has_verdict_noise() -> None:
    trials = np.where(np.arange(20) < 18, 1, 0)
    full = {"name": "stratified+gpirt", "subset": None}
    estimate = estimate_run(HALF * trials, trials, **full)
    assert estimate.pass_rate == estimate.low == estimate.high == 0.5
    assert (estimate.n_asked, estimate.n_valid) == (20, 18)
    assert estimate.theta is not None
    p = 1 / (1 + np.exp(-(estimate.theta.theta[0] - MODEL.difficulty[:18])))
    expected = stats.norm.ppf(0.95) * np.sqrt((p * (1 - p)).sum()) / 18
    assert estimate.rerun_high - 0.5 == pytest.approx(expected)
    wider = estimate_run(HALF * trials, trials, run_to_run_variance=0.01, **full)
    assert wider.rerun_high > estimate.rerun_high


def test_population_of_valid_questions_makes_a_check_exact_at_the_end() -> None:
    valid = np.arange(20) < 15
    asked = stratified_subset(MODEL, "bank", 20)
    estimate = estimate_run(HALF, subset=asked, population=valid)
    assert estimate.pass_rate == 8 / 15
    assert estimate.n_asked == 15


def test_flags() -> None:
    seen = np.array([q in SUBSET.question_ids for q in MODEL.question_ids])
    first = np.flatnonzero(seen)
    trials = ONES.copy()
    trials[first[:3]] = 0
    few = estimate_run(
        EASY_HALF * trials, trials, scale=SCALE, extra_flags=[Flag.STALE_CALIBRATION]
    )
    assert few.flags == (Flag.FEW_VALID, Flag.STALE_CALIBRATION)
    trials[first[2]] = 1  # 8 of 10 is enough
    enough = estimate_run(EASY_HALF * trials, trials)
    assert enough.flags == (Flag.PROVISIONAL_INTERVAL,)
    strong = estimate_run(ONES, scale=SCALE)
    assert strong.flags == (Flag.EXTRAPOLATING,)
    short = ConformalScale(residuals=np.full(9, 0.01), model_sd=np.full(9, 0.02))
    wide = estimate_run(EASY_HALF, scale=short, level=0.95)
    assert wide.flags == (Flag.FEW_RESIDUALS,)


def test_what_is_absent_is_said() -> None:
    with pytest.raises(NotEnoughDataError, match=r"no constants of gp-IRT .*recalibrate"):
        estimate_run(HALF, name="stratified+gpirt")
    with pytest.raises(InputError, match="none of the 10 asked questions has a valid verdict"):
        estimate_run(0 * ONES, 0 * ONES)
    other = stratified_subset(make_model(np.zeros(3), question_ids=("a", "b", "q0000")), "b", 3)
    with pytest.raises(InputError, match="lacks 2 of the subset's 3 questions, first 'a'"):
        estimate_run(HALF, subset=other)
    with pytest.raises(InputError, match="level"):
        estimate_run(HALF, subset=None, level=0.0)


def test_gpirt_constants_are_used() -> None:
    subset = stratified_subset(MODEL, "bank", 7)
    estimates = [
        estimate_run(
            HALF,
            name="stratified+gpirt",
            subset=subset,
            gpirt=GpirtConstants(outcome_variance=0.2, irt_bias=bias),
        ).pass_rate
        for bias in (0.0, 1e6)
    ]
    plain = [
        estimate_run(HALF, name=name, subset=subset).pass_rate
        for name in ("stratified+pirt", "stratified+weighted")
    ]
    np.testing.assert_allclose(estimates, plain, atol=1e-9)


def test_scores_that_the_caller_has_are_not_made_again() -> None:
    evidence = gather_evidence(
        Calibration(rasch=MODEL),
        EASY_HALF[np.newaxis],
        ONES[np.newaxis],
        weights=aligned_weights(MODEL, SUBSET),
    )
    method = method_named("stratified+weighted")
    scores = method.score(evidence)
    assert estimate_score(method, evidence, scores=scores) == estimate_score(method, evidence)
    moved = dataclasses.replace(scores, pass_rate=scores.pass_rate + 0.125)
    estimate = estimate_score(method, evidence, scores=moved)
    assert estimate.pass_rate == pytest.approx(scores.pass_rate[0] + 0.125)


def test_names() -> None:
    assert [method_named(method.name) for method in METHODS] == list(METHODS)
    assert method_named("stratified").name == "stratified+weighted"
    for name in ("strata", "cache+weighted", "stratified+gpirt+weighted"):
        with pytest.raises(InputError, match=r"unknown method .*; known are random, "):
            method_named(name)


def test_an_extrapolating_run_is_never_surer_than_the_model() -> None:
    identical = ConformalScale(residuals=np.zeros(30), model_sd=np.full(30, 0.02))
    narrow = make_model(np.linspace(-2, 2, 20), ability=(2.0, 2.1))
    estimate = estimate_run(
        EASY_HALF, model=narrow, subset=stratified_subset(narrow, "bank", 10), scale=identical
    )
    assert Flag.EXTRAPOLATING in estimate.flags
    # By hand: u of the ten unseen questions at the fitted ability, prior precision .05.
    assert estimate.theta is not None
    p = 1 / (1 + np.exp(-(estimate.theta.theta[0] - narrow.difficulty)))
    seen = np.array([q in SUBSET.question_ids for q in narrow.question_ids])
    unseen = (p * (1 - p))[~seen].sum()
    u = np.sqrt(unseen + unseen**2 / (0.05 + (p * (1 - p))[seen].sum())) / 20
    assert estimate.high - estimate.pass_rate == pytest.approx(stats.norm.ppf(0.95) * u)
