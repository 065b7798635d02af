r"""Log posterior of the multidimensional 2PL, :math:`\sigma(\alpha_j^T\theta_i - \beta_j)`."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One array for the runs, (m, d), and one for the questions, (n, d + 1).

    A question's row holds its d discriminations, then its difficulty.
    """

    runs: Floats
    questions: Floats

    def flat(self) -> Floats:
        """Both arrays in one vector."""
        return np.concatenate([self.runs.ravel(), self.questions.ravel()])

    def shaped(self, flat: Floats) -> "Pair":
        """Undo `flat` for arrays of the shapes of this pair."""
        size = self.runs.size
        return Pair(
            runs=flat[:size].reshape(self.runs.shape),
            questions=flat[size:].reshape(self.questions.shape),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The objective's value at some parameters, and what its derivatives need."""

    runs: Floats
    questions: Floats
    residual: Floats
    weight: Floats
    log_likelihood: float
    log_posterior: float

    @property
    def slopes(self) -> Floats:
        """Discriminations, (n, d): derivative of a cell's logit by the run's abilities."""
        return self.questions[:, :-1]

    @property
    def run_design(self) -> Floats:
        """Abilities and -1, (m, d + 1): derivative of a logit by its question's parameters."""
        return np.column_stack([self.runs, np.full(len(self.runs), -1.0)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Binomial likelihood of the cells and independent normal priors with mean zero."""

    passes: Floats
    trials: Floats
    question_precision: Floats

    @classmethod
    def of(
        cls,
        passes: NDArray[np.int16],
        trials: NDArray[np.int16],
        *,
        dimensions: int,
        discrimination_sd: float,
        difficulty_sd: float,
    ) -> Self:
        """Objective of (m, n) counts; abilities have precision one."""
        precision = [discrimination_sd**-2] * dimensions + [difficulty_sd**-2]
        return cls(
            passes=passes.astype(np.float64),
            trials=trials.astype(np.float64),
            question_precision=np.array(precision),
        )

    def at(self, runs: Floats, questions: Floats) -> Point:
        """Evaluate at abilities (m, d) and question parameters (n, d + 1)."""
        x = runs @ questions[:, :-1].T
        x -= questions[:, -1]
        decay = np.exp(-np.abs(x))
        # trials * log(1 + exp(x)), written so that exp never overflows.
        softplus = np.maximum(x, 0.0) + np.log1p(decay)
        likelihood = float(np.vdot(self.passes, x) - np.vdot(self.trials, softplus))
        penalty = np.vdot(runs, runs) + (questions**2 @ self.question_precision).sum()
        small = decay / (1.0 + decay)  # the smaller of p and 1 - p
        expected = self.trials * np.where(x >= 0, 1.0 - small, small)
        return Point(
            runs=runs,
            questions=questions,
            residual=self.passes - expected,
            weight=self.trials * small / (1.0 + decay),
            log_likelihood=likelihood,
            log_posterior=likelihood - float(penalty) / 2,
        )

    def gradient(self, point: Point) -> Pair:
        """First derivative of the log posterior."""
        return Pair(
            runs=self.run_gradient(point),
            questions=self.question_gradient(point),
        )

    def run_gradient(self, point: Point) -> Floats:
        """Differentiate by the abilities, (m, d)."""
        return point.residual @ point.slopes - point.runs

    def question_gradient(self, point: Point) -> Floats:
        """Differentiate by the questions' parameters, (n, d + 1)."""
        prior = point.questions * self.question_precision
        return point.residual.T @ point.run_design - prior

    def run_blocks(self, point: Point) -> Floats:
        """Negative second derivative by each run's own abilities, (m, d, d)."""
        return _weighted_squares(point.weight, point.slopes, np.ones(point.slopes.shape[1]))

    def question_blocks(self, point: Point) -> Floats:
        """Negative second derivative by each question's own parameters, (n, d + 1, d + 1)."""
        return _weighted_squares(point.weight.T, point.run_design, self.question_precision)

    def curvature_product(self, point: Point, direction: Pair) -> Pair:
        """Negative second derivative of the log posterior times a direction."""
        design = point.run_design
        change = direction.runs @ point.slopes.T
        change += design @ direction.questions.T
        change *= point.weight
        runs = change @ point.slopes - point.residual @ direction.questions[:, :-1]
        runs += direction.runs
        questions = change.T @ design + direction.questions * self.question_precision
        questions[:, :-1] -= point.residual.T @ direction.runs
        return Pair(runs=runs, questions=questions)


def _weighted_squares(weight: Floats, design: Floats, precision: Floats) -> Floats:
    """``sum_j weight_ij x_j x_j^T + diag(precision)`` for every i, in one product."""
    d = design.shape[1]
    upper = np.triu_indices(d)
    packed = weight @ (design[:, upper[0]] * design[:, upper[1]])
    squares = np.empty((len(weight), d, d))
    squares[:, upper[0], upper[1]] = packed
    squares[:, upper[1], upper[0]] = packed
    squares[:, np.arange(d), np.arange(d)] += precision
    return squares
