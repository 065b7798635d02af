"""Fitted multidimensional 2PL model: slopes, intercepts, abilities and how they were reached."""

import hashlib
import json
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.validation import first_duplicate, read_only_floats


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
        responses = np.array(self.n_responses, dtype=np.int64)
        responses.setflags(write=False)
        object.__setattr__(self, "n_responses", responses)
        for name in ("discrimination", "difficulty", "ability", "prior_mean"):
            object.__setattr__(self, name, read_only_floats(getattr(self, name)))
        _check_model(self)

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
        # Adding zero turns -0.0 into 0.0, which would be spelt differently.
        parameters = np.column_stack([self.difficulty, self.discrimination])
        rounded = [[f"{value:.6f}" for value in row] for row in np.round(parameters, 6) + 0.0]
        content = ["mirt", sorted(zip(self.question_ids, rounded, strict=True))]
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _check_model(model: MirtModel) -> None:
    n, m = len(model.question_ids), len(model.run_ids)
    if model.difficulty.shape != (n,) or model.n_responses.shape != (n,):
        raise InputError(f"`difficulty` and `n_responses` need one entry per question ({n})")
    if model.discrimination.ndim != 2 or len(model.discrimination) != n:
        raise InputError(f"`discrimination` needs one row per question ({n})")
    d = model.discrimination.shape[1]
    if d < 1 or model.ability.shape != (m, d) or model.prior_mean.shape != (d,):
        raise InputError(
            f"`ability` {model.ability.shape} and `prior_mean` {model.prior_mean.shape} must have "
            f"as many dimensions as `discrimination` ({d}), and `ability` one row per run ({m})"
        )
    for name, ids in (("question_ids", model.question_ids), ("run_ids", model.run_ids)):
        duplicate = first_duplicate(ids)
        if duplicate is not None:
            raise InputError(f"`{name}` has {duplicate!r} twice")
    for name in ("discrimination", "difficulty", "ability", "prior_mean"):
        if not np.isfinite(getattr(model, name)).all():
            raise InputError(f"`{name}` must be finite")
    if not 0 < model.prior_precision < math.inf:
        raise InputError("the ability prior needs a positive precision")
