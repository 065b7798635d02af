"""Fixed methods: a design that chooses all k questions at once, paired with an estimator."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.errors import InputError
from recurring_eval.estimators import (
    STRATA_DIVISOR,
    GpirtConstants,
    fit_gpirt_constants,
    gpirt_score,
    pirt_score,
    weighted_score,
)
from recurring_eval.methods.calibration import (
    Calibration,
    CalibrationRuns,
    ModelKind,
    fit_calibration,
)
from recurring_eval.methods.evidence import Evidence, aligned_weights, gather_evidence
from recurring_eval.methods.replayed import PreparedMethod, Score, Scored, prepare
from recurring_eval.records import Scores, Subset
from recurring_eval.response_matrix import ResponseMatrix


class ChooseQuestions(Protocol):
    """Chooses k questions of a model's bank.

    `rng` draws what the design leaves to chance: the questions of a random
    subset, or the order of equal difficulties, for which None means the order
    of question keys.
    """

    def __call__(
        self,
        model: RaschModel,
        bank_version: str,
        k: int,
        *,
        rng: np.random.Generator | None = None,
        seed: int = 0,
    ) -> Subset:
        """Return the subset; InputError if k is outside 1..N."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedMethod:
    """A design and an estimator.

    Attributes
    ----------
    name : str
        Used by the command line, stored records, replays and reports.
    description : str
        One sentence for lists of methods.
    source : str
        Where it was published.
    design : str
        Name of the way of choosing, as recorded in subsets.
    choose : ChooseQuestions
    estimate : callable
        Unclipped full pass rate of each run of an `Evidence` with weights, shape (m,).
    models : tuple of ModelKind
        What the estimator needs beside the Rasch model.
    aliases : tuple of str
        Other names.
    draws_as : str
        Name under which replays make random draws, by default `name`.
    checked : bool
        Whether nights keep its residuals and judge full runs by it.
    """

    name: str
    description: str
    source: str = "She and Lin 2026"
    design: str
    choose: ChooseQuestions
    estimate: Callable[[Evidence], NDArray[np.float64]]
    models: tuple[ModelKind[Any], ...] = ()
    aliases: tuple[str, ...] = ()
    draws_as: str = ""
    checked: bool = False
    budget_is_outcome: ClassVar[bool] = False

    def score(self, evidence: Evidence) -> Scores:
        """Score every run.

        Raises
        ------
        InputError
            The questions were asked step by step.
        NotEnoughDataError
            The calibration lacks a model.
        """
        if evidence.weights is None:
            raise InputError(f"method {self.name!r} needs the subset that was asked")
        return evidence.rasch_scores(self.estimate(evidence))

    def prepare(self, source: ResponseMatrix, *, rng: np.random.Generator) -> PreparedMethod:
        """Learn from source runs alone."""
        return prepare(self._fit, source, rng)

    def _fit(self, source: ResponseMatrix, rng: np.random.Generator) -> Score:
        return partial(self._replay, fit_calibration(source, self.models, rng))

    def _replay(
        self, calibration: Calibration, targets: ResponseMatrix, k: int, rng: np.random.Generator
    ) -> Scored:
        """Choose one subset for all targets and estimate each from its verdicts on it."""
        subset = self.choose(calibration.rasch, "replay", k, rng=rng)
        evidence = gather_evidence(
            calibration,
            targets.passes,
            targets.trials,
            weights=aligned_weights(calibration.rasch, subset),
            population=targets.trials > 0,
        )
        return Scored(score=self.score(evidence).pass_rate, observed=evidence.observed)


def _fit_gpirt(runs: CalibrationRuns, rng: np.random.Generator) -> GpirtConstants:
    return fit_gpirt_constants(runs.matrix, rng=rng)


GPIRT = ModelKind(
    name="gpirt",
    title="constants of gp-IRT",
    fit=_fit_gpirt,
    refit=lambda runs, _, rng: _fit_gpirt(runs, rng),
    to_arrays=lambda c: {"constants": np.array([c.outcome_variance, c.irt_bias])},
    from_arrays=lambda a, _: GpirtConstants(
        outcome_variance=float(a["constants"][0]), irt_bias=float(a["constants"][1])
    ),
    stream=("gp-irt",),
)
"""The two constants of gp-IRT's blend."""


def weighted(evidence: Evidence) -> NDArray[np.float64]:
    """Weighted mean of the valid outcomes."""
    return weighted_score(
        evidence.passes, evidence.trials, _weights(evidence), population=evidence.population
    )


def pirt(evidence: Evidence) -> NDArray[np.float64]:
    """Observed outcomes, and predictions of the Rasch model for the rest."""
    return pirt_score(
        evidence.calibration.rasch,
        evidence.ability,
        evidence.passes,
        evidence.trials,
        population=evidence.population,
    )


def gpirt(evidence: Evidence, *, design_divisor: float = STRATA_DIVISOR) -> NDArray[np.float64]:
    """Blend of both, by default with the error of a stratified mean."""
    return gpirt_score(
        evidence.calibration.rasch,
        evidence.ability,
        evidence.passes,
        evidence.trials,
        weights=_weights(evidence),
        constants=evidence.calibration[GPIRT],
        population=evidence.population,
        design_divisor=design_divisor,
    )


def _weights(evidence: Evidence) -> NDArray[np.float64]:
    if evidence.weights is None:
        raise ValueError("the questions were asked step by step and have no weights")
    return evidence.weights
