"""Log posterior of the multidimensional 2PL and the Newton steps that maximise it."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

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


SWEEPS: Final = 6
"""Alternating sweeps before all parameters move together."""

LONGEST_STEP: Final = 1.5
"""Clip of one run's or question's alternating step, in logits."""

FIRST_RADIUS: Final = 20.0
"""First trust radius, in posterior standard deviations over all parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Where the iteration ended."""

    point: Point
    converged: bool
    n_iterations: int


def maximise(objective: Objective, start: Pair, *, tolerance: float, max_iterations: int) -> Mode:
    """Alternating Newton sweeps while they help, then trust-region Newton steps.

    Alternation alone creeps along the ridges where abilities and
    discriminations trade off; joint steps with the exact second derivative
    finish in a few dozen iterations.
    """
    point, n_sweeps = _alternate(objective, objective.at(start.runs, start.questions))
    surface = _Surface(objective, point)
    result = optimize.minimize(
        surface.value_and_gradient,
        np.zeros(start.runs.size + start.questions.size),
        jac=True,
        hessp=surface.curvature_product,
        method="trust-ncg",
        options={
            "gtol": tolerance,
            "maxiter": max_iterations,
            "initial_trust_radius": FIRST_RADIUS,
        },
    )
    return Mode(
        point=surface.point_at(result.x),
        converged=bool(np.linalg.norm(result.jac) <= tolerance),
        n_iterations=n_sweeps + int(result.nit),
    )


def _alternate(objective: Objective, point: Point) -> tuple[Point, int]:
    """Newton steps of all runs at once, then of all questions; each batch is independent."""
    for sweep in range(SWEEPS):
        step = _solve(objective.run_blocks(point), objective.run_gradient(point))
        half = objective.at(point.runs + _clipped(step), point.questions)
        step = _solve(objective.question_blocks(half), objective.question_gradient(half))
        candidate = objective.at(half.runs, half.questions + _clipped(step))
        if candidate.log_posterior <= point.log_posterior:
            return point, sweep
        point = candidate
    return point, SWEEPS


def _solve(blocks: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(blocks, right[..., np.newaxis])[..., 0])


def _clipped(step: Floats) -> Floats:
    length = np.linalg.norm(step, axis=1, keepdims=True)
    return np.asarray(step * (LONGEST_STEP / np.maximum(length, LONGEST_STEP)))


class _Surface:
    """The negative log posterior in coordinates scaled by the blocks' Cholesky factors.

    In these coordinates every run's and question's own second derivative is
    the identity at the origin, so that conjugate gradients need few steps.
    """

    def __init__(self, objective: Objective, origin: Point) -> None:
        self._objective = objective
        self._origin = Pair(runs=origin.runs, questions=origin.questions)
        self._run_scale = _inverse_factors(objective.run_blocks(origin))
        self._question_scale = _inverse_factors(objective.question_blocks(origin))
        self._last: tuple[Floats, Point] = (np.zeros(self._origin.flat().size), origin)

    def point_at(self, z: Floats) -> Point:
        if not np.array_equal(z, self._last[0]):
            move = self._unscale(z)
            point = self._objective.at(
                self._origin.runs + move.runs, self._origin.questions + move.questions
            )
            self._last = (z.copy(), point)
        return self._last[1]

    def value_and_gradient(self, z: Floats) -> tuple[float, Floats]:
        point = self.point_at(z)
        return -point.log_posterior, -self._scale(self._objective.gradient(point))

    def curvature_product(self, z: Floats, direction: Floats) -> Floats:
        return self._scale(
            self._objective.curvature_product(self.point_at(z), self._unscale(direction))
        )

    def _unscale(self, z: Floats) -> Pair:
        scaled = self._origin.shaped(z)
        return Pair(
            runs=_times(self._run_scale.transpose(0, 2, 1), scaled.runs),
            questions=_times(self._question_scale.transpose(0, 2, 1), scaled.questions),
        )

    def _scale(self, gradient: Pair) -> Floats:
        return Pair(
            runs=_times(self._run_scale, gradient.runs),
            questions=_times(self._question_scale, gradient.questions),
        ).flat()


def _inverse_factors(blocks: Floats) -> NDArray[np.float64]:
    return np.asarray(np.linalg.inv(np.linalg.cholesky(blocks)))


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray(np.matmul(matrices, vectors[..., np.newaxis])[..., 0])
