"""Fitted Rasch model: difficulties, abilities and how they were reached."""

import hashlib
import json
import math
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
        responses = np.array(self.n_responses, dtype=np.int64)
        responses.setflags(write=False)
        object.__setattr__(self, "n_responses", responses)
        object.__setattr__(self, "difficulty", read_only_floats(self.difficulty))
        object.__setattr__(self, "ability", read_only_floats(self.ability))
        _check_model(self)

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
        # Adding zero turns -0.0 into 0.0, which would be spelt differently.
        rounded = [f"{value:.6f}" for value in np.round(self.difficulty, 6) + 0.0]
        content = ["rasch", sorted(zip(self.question_ids, rounded, strict=True))]
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def _check_model(model: RaschModel) -> None:
    n, m = len(model.question_ids), len(model.run_ids)
    if model.difficulty.shape != (n,) or model.n_responses.shape != (n,):
        raise InputError(f"`difficulty` and `n_responses` need one entry per question ({n})")
    if model.ability.shape != (m,):
        raise InputError(f"`ability` needs one entry per run ({m})")
    for name, ids in (("question_ids", model.question_ids), ("run_ids", model.run_ids)):
        duplicate = first_duplicate(ids)
        if duplicate is not None:
            raise InputError(f"`{name}` has {duplicate!r} twice")
    if not (np.isfinite(model.difficulty).all() and np.isfinite(model.ability).all()):
        raise InputError("`difficulty` and `ability` must be finite")
    if not (math.isfinite(model.prior_mean) and 0 < model.prior_precision < math.inf):
        raise InputError("the ability prior needs a finite mean and a positive precision")
