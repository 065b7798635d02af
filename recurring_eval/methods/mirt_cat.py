"""`mirt-cat`: the D-optimal question under a multidimensional 2PL model (M2PL)."""

from dataclasses import replace
from typing import Final

import numpy as np

from recurring_eval.adaptive import choose_d_optimal
from recurring_eval.calibration.mirt import refit_mirt
from recurring_eval.calibration.mirt_selection import select_mirt
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.methods.calibration import Arrays, Calibration, ModelKind
from recurring_eval.methods.cat import COARSE_ROUND, AdaptiveTest
from recurring_eval.methods.replayed import ReplayMethod
from recurring_eval.methods.steps import StepMethod

MIN_RUNS: Final = 80
"""With fewer runs methods of one ability are as good: k = 100 on the simulator."""


def to_arrays(model: MirtModel) -> Arrays:
    """Arrays of the model."""
    held_out = model.held_out_log_likelihood
    return {
        "run_ids": np.array(model.run_ids),
        "discrimination": model.discrimination,
        "difficulty": model.difficulty,
        "ability": model.ability,
        "n_responses": model.n_responses,
        "prior_mean": model.prior_mean,
        "prior_precision": np.array(model.prior_precision),
        "discrimination_sd": np.array(model.discrimination_sd),
        "log_posterior": np.array(model.log_posterior),
        "log_likelihood": np.array(model.log_likelihood),
        "held_out_log_likelihood": np.array([] if held_out is None else [held_out]),
        "converged": np.array(model.converged),
        "n_iterations": np.array(model.n_iterations),
    }


def from_arrays(arrays: Arrays, question_ids: tuple[str, ...]) -> MirtModel:
    """Build what `to_arrays` took apart."""
    held_out = arrays["held_out_log_likelihood"].tolist()
    return MirtModel(
        question_ids=question_ids,
        run_ids=tuple(arrays["run_ids"].tolist()),
        discrimination=arrays["discrimination"],
        difficulty=arrays["difficulty"],
        ability=arrays["ability"],
        n_responses=arrays["n_responses"].astype(np.int64),
        prior_mean=arrays["prior_mean"],
        prior_precision=float(arrays["prior_precision"]),
        discrimination_sd=float(arrays["discrimination_sd"]),
        log_posterior=float(arrays["log_posterior"]),
        log_likelihood=float(arrays["log_likelihood"]),
        held_out_log_likelihood=held_out[0] if held_out else None,
        converged=bool(arrays["converged"]),
        n_iterations=int(arrays["n_iterations"]),
    )


def describe(model: MirtModel) -> str:
    """Phrase for the job ledger."""
    unsettled = "" if model.converged else ", not converged"
    return (
        f"M2PL with {model.n_dimensions} dimensions, "
        f"discrimination SD {model.discrimination_sd:g}{unsettled}"
    )


MIRT: Final = ModelKind(
    name="mirt",
    title="M2PL",
    fit=lambda runs, rng: select_mirt(runs.matrix, n_threads=runs.n_threads, rng=rng),
    refit=lambda runs, like, _: refit_mirt(runs.matrix, like=like),
    to_arrays=to_arrays,
    from_arrays=from_arrays,
    describe=describe,
    stream=("several abilities",),
    min_runs=MIN_RUNS,
)


def model_of(calibration: Calibration) -> MirtModel | RaschModel:
    """Return the M2PL model; where a night had too few runs for it, work as `rasch-cat` does."""
    model = calibration.get(MIRT)
    return calibration.rasch if model is None else model


_TEST: Final = AdaptiveTest(model_of=model_of, choose=choose_d_optimal)

MIRT_CAT: Final = StepMethod(
    name="mirt-cat",
    description="One question at a time, D-optimal for several abilities; p-IRT.",
    source="She and Lin 2026",
    begin=_TEST.begin,
    score=_TEST.score,
    replay=_TEST.replay,
    replay_coarsely=replace(_TEST, per_round=COARSE_ROUND).replay,
    models=(MIRT,),
    can_do_without=True,
)

_STANDARD_PRIOR: Final = replace(_TEST, standard_prior=True)

MIRT_CAT_STANDARD_PRIOR: Final = ReplayMethod(
    name="mirt-cat+standard-prior",
    description="The same with the published N(0, I) prior, which hides an improvement.",
    source="She and Lin 2026",
    fit=replace(
        MIRT_CAT,
        begin=_STANDARD_PRIOR.begin,
        score=_STANDARD_PRIOR.score,
        replay=_STANDARD_PRIOR.replay,
    ).fit,
)
