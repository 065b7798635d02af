"""Methods as replays compare them: prepared on source runs, tried on target runs."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import read_only_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodEstimates:
    """What a method says about m target runs after asking at most k questions of each.

    Attributes
    ----------
    pass_rate : ndarray, shape (m,)
        Estimated score over each run's valid questions, a fraction inside the
        feasible range; the observed rate where all of them were asked. NaN
        where the method cannot estimate, as none of its questions was answered.
    n_executed : ndarray of int64, shape (m,)
        Questions of each run whose valid verdict was used.
    model_sd : ndarray, shape (m,), or None
        Standard deviation of the estimate under the method's own model.
    low, high : ndarray, shape (m,), or None
        The method's own interval of nominal level `LEVEL` (90 %),
        inside the feasible range.
    """

    pass_rate: NDArray[np.float64]
    n_executed: NDArray[np.int64]
    model_sd: NDArray[np.float64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        executed = np.array(self.n_executed, dtype=np.int64)
        executed.setflags(write=False)
        object.__setattr__(self, "n_executed", executed)
        for name in ("pass_rate", "model_sd", "low", "high"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, read_only_floats(values))


class PreparedMethod(Protocol):
    """A method that has learnt what it needs from the source runs."""

    def estimate(
        self, targets: ResponseMatrix, k: int, *, rng: np.random.Generator
    ) -> MethodEstimates:
        """Estimate each target from its own verdicts on k questions.

        Parameters
        ----------
        targets : ResponseMatrix
            Full runs with the questions of the source, rows in any order. Fixed
            designs ask k questions and do without the missing ones; adaptive
            designs replace these and count valid answers.
        k : int
            ``1 <= k <= N``.
        rng : numpy.random.Generator
            Draws what the method leaves to chance.

        Raises
        ------
        InputError
            The questions differ from the source's or k is not possible.
        """
        ...


class PrepareMethod(Protocol):
    """Learns from source runs alone."""

    def __call__(self, source: ResponseMatrix, *, rng: np.random.Generator) -> PreparedMethod:
        """Return the prepared method; NotEnoughDataError where the source is too small."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayMethod:
    """One entry of the registry of methods that replays compare.

    Attributes
    ----------
    name : str
    description : str
        One sentence for lists of methods.
    prepare : PrepareMethod
    product : bool
        Whether the product offers it, or replays alone.
    source : str
        Where it was published.
    budget_is_outcome : bool
        Whether the method itself decides how many questions it asks; k then
        has no effect.
    alias_of : str
        Name of the method that this one is another name of, whose random draws it
        shares; empty for none.
    """

    name: str
    description: str
    prepare: PrepareMethod
    product: bool
    source: str
    budget_is_outcome: bool = False
    alias_of: str = ""
