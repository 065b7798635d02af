"""Hierarchical score posterior recovery, prepared for replays."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from recurring_eval.hspr import HsprCalibration, calibrate_average, calibrate_staged, run_hspr
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix

_PAPER: Final = "HSPR"


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprScorer:
    """Fitted sources and the configuration for every budget."""

    calibration: HsprCalibration

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Evaluate each target over its valid questions, with a random stream of its own."""
        position = {question: j for j, question in enumerate(targets.question_ids)}
        valid = targets.trials > 0
        score, sd = np.full((2, targets.n_runs), np.nan)
        observed = np.zeros(valid.shape, dtype=np.bool_)
        for row, stream in enumerate(rng.spawn(targets.n_runs)):
            if not valid[row].any():
                continue
            result = run_hspr(
                self.calibration.model,
                targets.passes[row],
                targets.trials[row],
                budget=k,
                config=self.calibration.config,
                rng=stream,
                population=valid[row],
            )
            score[row], sd[row] = result.pass_rate, result.sd
            observed[row, [position[question] for question in result.asked]] = True
        return Scored(score=score, observed=observed & valid, model_sd=sd)


def fit_average(source: ResponseMatrix, rng: np.random.Generator) -> HsprScorer:  # noqa: ARG001  nothing is drawn
    """Fit the sources."""
    return HsprScorer(calibration=calibrate_average(source))


def fit_staged(source: ResponseMatrix, rng: np.random.Generator) -> HsprScorer:
    """Fit the sources and select a configuration, for all budgets the same, as published.

    Raises
    ------
    NotEnoughDataError
        Too few source runs to hold one out.
    """
    return HsprScorer(calibration=calibrate_staged(source, rng=rng.spawn(1)[0]))


HSPR_AVERAGE: Final = ReplayMethod(
    name="hspr-average",
    description="One question at a time, for the score's posterior averaged over two precisions.",
    prepare=PrepareInOrder(fit=fit_average),
    product=False,
    source=_PAPER,
)

HSPR_STAGED: Final = ReplayMethod(
    name="hspr-staged",
    description="The same with rank, concentration and acquisition selected on the sources.",
    prepare=PrepareInOrder(fit=fit_staged),
    product=False,
    source=_PAPER,
)

HSPR: Final = ReplayMethod(
    name="hspr",
    description="Hierarchical score posterior recovery as recommended: hspr-average.",
    prepare=HSPR_AVERAGE.prepare,
    product=True,
    source=_PAPER,
    alias_of=HSPR_AVERAGE.name,
)
