"""Models and matrices shared by the HSPR tests."""

from datetime import UTC, datetime, timedelta

import numpy as np

from recurring_eval.hspr.config import MAX_RANK, HsprConfig, LatentPrior
from recurring_eval.hspr.items import ZeroInflatedBeta
from recurring_eval.hspr.model import HsprModel
from recurring_eval.hspr.posterior import NodePosterior
from recurring_eval.response_matrix import ResponseMatrix

START = datetime(2026, 1, 1, tzinfo=UTC)


def matrix_of(passes, trials=None, *, question_ids=None, run_ids=None, agents=None):
    passes = np.asarray(passes, dtype=np.int16)
    m, n = passes.shape
    run_ids = run_ids or tuple(f"run-{i:03d}" for i in range(m))
    return ResponseMatrix(
        passes=passes,
        trials=np.ones_like(passes) if trials is None else np.asarray(trials, dtype=np.int16),
        run_ids=run_ids,
        question_ids=question_ids or tuple(f"q{j:04d}" for j in range(n)),
        started_at=tuple(START + timedelta(hours=i) for i in range(m)),
        agents=agents or run_ids,
    )


def model_of_groups(group_of_question, intercept, slope, directions=None) -> HsprModel:
    """A model with given group parameters, as the exact cases feed them."""
    groups = len(intercept)
    columns = np.zeros((groups, MAX_RANK))
    if directions is not None:
        given = np.asarray(directions, dtype=float).reshape(groups, -1)
        columns[:, : given.shape[1]] = given
    return HsprModel(
        question_ids=tuple(f"q{j:04d}" for j in range(len(group_of_question))),
        source_ids=("a", "b"),
        group_of_question=np.asarray(group_of_question),
        intercept=np.asarray(intercept, dtype=float),
        slope=np.asarray(slope, dtype=float),
        directions=columns,
        rates=ZeroInflatedBeta(zero_mass=0.1, alpha=1.0, beta=1.0),
        source_zero=np.zeros(groups, dtype=bool),
        source_scores=np.array([0.2, 0.7]),
    )


def config_of(rank: int, precision: float, **settings) -> HsprConfig:
    return HsprConfig(latent=(LatentPrior(rank=rank, precision=precision),), **settings)


def place(posterior: NodePosterior, nodes, log_weights) -> None:
    """Put a posterior with one latent prior on given nodes (d, J), quadrature grids for one.

    The unnormalised log weights are multiplied by the likelihood of the history.
    """
    posterior.components[0].nodes = np.asarray(nodes, dtype=np.float64)
    posterior._assign(log_weights + posterior._log_likelihood(), posterior.model.intercept)
