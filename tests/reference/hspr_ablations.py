"""Controls that take one idea out of HSPR at a time (the paper's Table 2)."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recurring_eval.hspr.config import HsprConfig
from recurring_eval.response_matrix import ResponseMatrix


def without_hierarchy(config: HsprConfig) -> HsprConfig:
    """Group rates equal the global response probability; paths are chosen accordingly."""
    return replace(config, kappa=math.inf)


def with_mean_decision(config: HsprConfig) -> HsprConfig:
    """Decide by the posterior mean in place of the median, on identical paths."""
    return replace(config, decision="mean")


def uniform_path(n_questions: int, rng: np.random.Generator) -> list[int]:
    """All questions in random order: a fixed path for `run_hspr`."""
    return [int(question) for question in rng.permutation(n_questions)]


def mid_range_path(matrix: ResponseMatrix) -> list[int]:
    """Questions by distance of their source pass rate from one half, ties by id.

    Distances are rounded to 12 digits, so that .45 and .55 are equally near. Questions
    without a source come last.
    """
    rates: NDArray[np.float64] = matrix.question_pass_rates()
    distance = np.where(np.isnan(rates), np.inf, np.round(np.abs(2.0 * rates - 1.0), 12))
    return sorted(range(matrix.n_questions), key=lambda j: (distance[j], matrix.question_ids[j]))
