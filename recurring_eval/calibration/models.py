"""Fitted models: parameters of the questions, abilities of the runs, how they were reached."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.validation import first_duplicate, read_only_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RaschModel:
    """Difficulties of questions and abilities of the runs they were fitted on.

    The convention is ``P(pass) = sigmoid(ability - difficulty)``: a larger
    difficulty means fewer passes.

    Attributes
    ----------
    question_ids : tuple of str
        Length n.
    difficulty : ndarray, shape (n,)
        In logits.
    run_ids : tuple of str
        Calibration runs, length m.
    ability : ndarray, shape (m,)
        In logits.
    n_responses : ndarray of int64, shape (n,)
        Valid verdicts (trials) behind each difficulty; 0 means that the
        difficulty is the prior's.
    prior_mean, prior_precision : float
        Ability prior for a new run.
    log_posterior, log_likelihood : float
        At the parameters, without constants (binomial coefficients, normalisers).
    held_out_log_likelihood : float or None
        Mean per held-out trial, when it was measured.
    converged : bool
    n_iterations : int
    """

    question_ids: tuple[str, ...]
    difficulty: NDArray[np.float64]
    run_ids: tuple[str, ...]
    ability: NDArray[np.float64]
    n_responses: NDArray[np.int64]
    prior_mean: float
    prior_precision: float
    log_posterior: float
    log_likelihood: float
    held_out_log_likelihood: float | None = None
    converged: bool
    n_iterations: int

    def __post_init__(self) -> None:
        _freeze(self, "difficulty", "ability")
        if self.ability.shape != (len(self.run_ids),):
            raise InputError(f"`ability` needs one entry per run ({len(self.run_ids)})")
        _check(self, "difficulty", "ability")

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.question_ids)

    @property
    def discrimination(self) -> NDArray[np.float64]:
        """Slopes, all one in a Rasch model, shape (n,)."""
        return np.ones(self.n_questions)

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the kind, question ids and difficulties to 6 decimals.

        The order of the questions does not matter.
        """
        return _fingerprint("rasch", self.question_ids, _six_decimals(self.difficulty))


@dataclass(frozen=True, slots=True, kw_only=True)
class MirtModel:
    r"""Slopes and difficulties of questions, abilities of the runs they were fitted on.

    The convention is ``P(pass) = sigmoid(discrimination @ ability - difficulty)``:
    the difficulty is an intercept, not a location on an ability axis. Axes are
    ordered by the variance they carry and point upwards: on each of them ability
    does not fall with the runs' scores and the discriminations sum to no less
    than zero, wherever a rotation can give both.

    Attributes
    ----------
    question_ids : tuple of str
        Length n.
    discrimination : ndarray, shape (n, d)
    difficulty : ndarray, shape (n,)
        In logits.
    run_ids : tuple of str
        Calibration runs, length m.
    ability : ndarray, shape (m, d)
    n_responses : ndarray of int64, shape (n,)
        Valid verdicts (trials) behind each question; 0 means that its
        parameters are the prior's.
    prior_mean : ndarray, shape (d,)
        Ability prior for a new run: mean of recent runs.
    prior_precision : float
        Of each ability of a new run, around `prior_mean`.
    discrimination_sd : float
        Prior standard deviation the discriminations were fitted with.
    log_posterior, log_likelihood : float
        At the parameters, without constants (binomial coefficients, normalisers).
    held_out_log_likelihood : float or None
        Mean per held-out trial, when it was measured.
    converged : bool
    n_iterations : int
    """

    question_ids: tuple[str, ...]
    discrimination: NDArray[np.float64]
    difficulty: NDArray[np.float64]
    run_ids: tuple[str, ...]
    ability: NDArray[np.float64]
    n_responses: NDArray[np.int64]
    prior_mean: NDArray[np.float64]
    prior_precision: float
    discrimination_sd: float
    log_posterior: float
    log_likelihood: float
    held_out_log_likelihood: float | None = None
    converged: bool
    n_iterations: int

    def __post_init__(self) -> None:
        parameters = ("discrimination", "difficulty", "ability", "prior_mean")
        _freeze(self, *parameters)
        n, m = len(self.question_ids), len(self.run_ids)
        if self.discrimination.ndim != 2 or len(self.discrimination) != n:
            raise InputError(f"`discrimination` needs one row per question ({n})")
        d = self.discrimination.shape[1]
        if d < 1 or self.ability.shape != (m, d) or self.prior_mean.shape != (d,):
            raise InputError(
                f"`ability` {self.ability.shape} and `prior_mean` {self.prior_mean.shape} must "
                f"have as many dimensions as `discrimination` ({d}), and `ability` one row per "
                f"run ({m})"
            )
        _check(self, *parameters)

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.question_ids)

    @property
    def n_dimensions(self) -> int:
        """Number of abilities, d."""
        return int(self.discrimination.shape[1])

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the kind, question ids and their parameters to 6 decimals.

        The order of the questions does not matter.
        """
        parameters = np.column_stack([self.difficulty, self.discrimination])
        rows = [_six_decimals(row) for row in parameters]
        return _fingerprint("mirt", self.question_ids, rows)


Model = RaschModel | MirtModel


def _freeze(model: Model, *parameters: str) -> None:
    """Replace the arrays by read-only copies."""
    responses = np.array(model.n_responses, dtype=np.int64)
    responses.setflags(write=False)
    object.__setattr__(model, "n_responses", responses)
    for name in parameters:
        object.__setattr__(model, name, read_only_floats(getattr(model, name)))


def _check(model: Model, *parameters: str) -> None:
    """Refuse what no fit can give, whatever the number of dimensions."""
    n = len(model.question_ids)
    if model.difficulty.shape != (n,) or model.n_responses.shape != (n,):
        raise InputError(f"`difficulty` and `n_responses` need one entry per question ({n})")
    for name, ids in (("question_ids", model.question_ids), ("run_ids", model.run_ids)):
        duplicate = first_duplicate(ids)
        if duplicate is not None:
            raise InputError(f"`{name}` has {duplicate!r} twice")
    for name in parameters:
        if not np.isfinite(getattr(model, name)).all():
            raise InputError(f"`{name}` must be finite")
    if not (np.isfinite(model.prior_mean).all() and 0 < model.prior_precision < math.inf):
        raise InputError("the ability prior needs a finite mean and a positive precision")


def _six_decimals(values: NDArray[np.float64]) -> list[str]:
    # Adding zero turns -0.0 into 0.0, which would be spelt differently.
    return [f"{value:.6f}" for value in np.round(values, 6) + 0.0]


def _fingerprint(
    kind: str, question_ids: Sequence[str], parameters: Sequence[str] | Sequence[list[str]]
) -> str:
    content = [kind, sorted(zip(question_ids, parameters, strict=True))]
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
