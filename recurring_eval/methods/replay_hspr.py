"""Hierarchical score posterior recovery, prepared for replays."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr import (
    AVERAGE,
    HsprConfig,
    HsprModel,
    calibrate_average,
    fit_sources,
    run_hspr,
    select_configuration,
    signature_rows,
)
from recurring_eval.hspr.calibration import PATH_NODES, require_sources_to_select
from recurring_eval.methods.ordered import PrepareInOrder, Scored
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.response_matrix import ResponseMatrix

_PAPER: Final = "HSPR"

ConfigOf = Callable[[int], HsprConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprScorer:
    """Fitted sources, and the configuration for each budget."""

    model: HsprModel
    config_of: ConfigOf

    def score(self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator) -> Scored:
        """Evaluate each target over its valid questions, with a random stream of its own."""
        config = self.config_of(k)
        position = {question: j for j, question in enumerate(targets.question_ids)}
        valid = targets.trials > 0
        score, sd = np.full((2, targets.n_runs), np.nan)
        observed = np.zeros(valid.shape, dtype=np.bool_)
        for row, stream in enumerate(rng.spawn(targets.n_runs)):
            if not valid[row].any():
                continue
            result = run_hspr(
                self.model,
                targets.passes[row],
                targets.trials[row],
                budget=k,
                config=config,
                rng=stream,
                population=valid[row],
            )
            score[row], sd[row] = result.pass_rate, result.sd
            observed[row, [position[question] for question in result.asked]] = True
        return Scored(score=score, observed=observed & valid, model_sd=sd)


@dataclass(frozen=True, slots=True)
class StagedSelection:
    """Configuration selected on the sources for a budget; remembered, as it takes seconds.

    The query orders of the selection come from a copy of the stream that prepared the
    method, so that a budget's configuration depends neither on targets nor on other budgets.
    """

    source: ResponseMatrix
    sources: NDArray[np.intp]
    rng: np.random.Generator
    selected: dict[int, HsprConfig] = field(default_factory=dict)

    def __call__(self, k: int) -> HsprConfig:
        """Select at most once per budget; at full budget every configuration is exact."""
        if k >= self.source.n_questions:
            return AVERAGE
        if k not in self.selected:
            chosen = select_configuration(
                self.source, budget=k, rng=deepcopy(self.rng), sources=self.sources
            ).config
            self.selected[k] = replace(chosen, path_nodes=PATH_NODES)
        return self.selected[k]


def fit_average(source: ResponseMatrix, rng: np.random.Generator) -> HsprScorer:  # noqa: ARG001  nothing is drawn
    """Fit the sources."""
    fitted = calibrate_average(source)
    return HsprScorer(model=fitted.model, config_of=lambda _: fitted.config)


def fit_staged(source: ResponseMatrix, rng: np.random.Generator) -> HsprScorer:
    """Fit the sources; the configuration is selected once a budget is known.

    Raises
    ------
    NotEnoughDataError
        Too few source runs to hold one out.
    """
    rows = signature_rows(source)
    require_sources_to_select(rows)
    selection = StagedSelection(source, rows, rng.spawn(1)[0])
    return HsprScorer(model=fit_sources(source, sources=rows), config_of=selection)


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
    tuned_per_budget=True,
)

HSPR: Final = ReplayMethod(
    name="hspr",
    description="Hierarchical score posterior recovery as recommended: hspr-average.",
    prepare=HSPR_AVERAGE.prepare,
    product=True,
    source=_PAPER,
    alias_of=HSPR_AVERAGE.name,
)
