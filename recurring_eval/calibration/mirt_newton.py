"""Maximising the multidimensional 2PL's log posterior: alternating, then joint Newton steps."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from recurring_eval.calibration.mirt_objective import Floats, Objective, Pair, Point

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
