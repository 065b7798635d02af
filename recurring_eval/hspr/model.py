"""Source-signature groups: questions that no source agent tells apart (HSPR, section 3.2)."""

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.errors import FitError, InputError, NotEnoughDataError
from recurring_eval.hspr.config import MAX_RANK
from recurring_eval.hspr.items import ZeroInflatedBeta, fit_items
from recurring_eval.one_thread import one_thread
from recurring_eval.response_matrix import ResponseMatrix, outcome_rates
from recurring_eval.validation import order_by_id, read_only_floats

Floats = NDArray[np.float64]
MISSING_SYMBOL = -1


def signature_groups(passes: NDArray[np.int16], trials: NDArray[np.int16]) -> NDArray[np.intp]:
    """Group of each question, numbered by first question.

    A signature is the exact tuple of the sources' rates passes/trials, with missing
    as a symbol of its own: 1 of 2 equals 2 of 4, and missing equals only missing.

    Parameters
    ----------
    passes, trials : ndarray, shape (m, N)

    Returns
    -------
    ndarray of intp, shape (N,)
    """
    divisor = np.gcd(passes, trials)
    scale = np.maximum(divisor, 1)
    numerator = np.where(trials > 0, passes // scale, MISSING_SYMBOL).astype(np.int16)
    denominator = np.where(trials > 0, trials // scale, MISSING_SYMBOL).astype(np.int16)
    columns = np.ascontiguousarray(np.concatenate([numerator, denominator]).T)
    first_seen: dict[bytes, int] = {}
    return np.array(
        [first_seen.setdefault(column.tobytes(), len(first_seen)) for column in columns],
        dtype=np.intp,
    )


def group_means(values: Floats, group_of_question: NDArray[np.intp]) -> Floats:
    """Average of `values` (N,) or (N, d) over each group, shape (G,) or (G, d)."""
    size = np.bincount(group_of_question)
    total = np.zeros((len(size), *values.shape[1:]))
    np.add.at(total, group_of_question, values)
    return total / size.reshape(-1, *[1] * (values.ndim - 1))


MIN_SOURCES: Final = 2
DEFAULT_TRIAL_CORRELATION: Final = 0.1
"""Of trials of one question in one run, where no source has repeated trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprModel:
    """Source-signature groups and their fitted parameters; independent of any `HsprConfig`.

    N questions, G groups. Groups are numbered by their first question in id order,
    which is also how equal gains are decided.

    Attributes
    ----------
    question_ids : tuple of str, length N
    source_ids : tuple of str
        Runs that make up the signatures.
    group_of_question : ndarray of intp, shape (N,)
    intercept, slope : ndarray, shape (G,)
        Averages of the group's questions; slopes are per standardised logit of ability.
    directions : ndarray, shape (G, MAX_RANK)
        Averaged residual loadings; a configuration of rank r uses the first r.
    rates : ZeroInflatedBeta
        Of the questions' pass rates among the sources.
    source_zero : ndarray of bool, shape (G,)
        Groups that no source ever passed.
    source_scores : ndarray, shape (m,)
        Pass rate, over its valid questions, of each run the parameters were fitted on.
    trial_correlation : float
        Correlation rho between trials of one question in one run.
    """

    question_ids: tuple[str, ...]
    source_ids: tuple[str, ...]
    group_of_question: NDArray[np.intp]
    intercept: Floats
    slope: Floats
    directions: Floats
    rates: ZeroInflatedBeta
    source_zero: NDArray[np.bool_]
    source_scores: Floats
    trial_correlation: float = DEFAULT_TRIAL_CORRELATION

    def __post_init__(self) -> None:
        for name in ("intercept", "slope", "directions", "source_scores"):
            object.__setattr__(self, name, read_only_floats(getattr(self, name)))
        for name, dtype in (("group_of_question", np.intp), ("source_zero", np.bool_)):
            array = np.array(getattr(self, name), dtype=dtype)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        groups = self.n_groups
        if self.group_of_question.shape != (len(self.question_ids),):
            raise InputError("`group_of_question` needs one group for each question")
        if not np.array_equal(np.unique(self.group_of_question), np.arange(groups)):
            raise InputError(f"`group_of_question` must use every group from 0 to {groups - 1}")
        if self.slope.shape != (groups,) or self.source_zero.shape != (groups,):
            raise InputError("`slope` and `source_zero` need one entry per group")
        if self.directions.shape != (groups, MAX_RANK):
            raise InputError(f"`directions` must have shape ({groups}, {MAX_RANK})")
        for name in ("intercept", "slope", "directions"):
            if not np.isfinite(getattr(self, name)).all():
                raise FitError(f"the source model's `{name}` is not finite")

    @property
    def n_questions(self) -> int:
        """Questions N of the bank."""
        return len(self.question_ids)

    @property
    def n_groups(self) -> int:
        """Source-signature groups G."""
        return len(self.intercept)

    @property
    def group_size(self) -> NDArray[np.intp]:
        """Questions of each group, shape (G,)."""
        return np.bincount(self.group_of_question, minlength=self.n_groups)

    @property
    def source_zero_share(self) -> float:
        """Share of the questions that no source ever passed."""
        return float(self.source_zero[self.group_of_question].mean())

    def loadings(self, rank: int) -> Floats:
        """Slope and the first `rank` directions of each group, shape (G, 1 + rank)."""
        return np.column_stack([self.slope, self.directions[:, :rank]])

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the questions in id order, their groups and the parameters to 6 digits."""
        digest = hashlib.sha256(b"hspr\n")
        by_id = order_by_id(self.question_ids)
        digest.update("\n".join(self.question_ids[j] for j in by_id).encode())
        digest.update(self.group_of_question[by_id].astype("<i8").tobytes())
        for values in (self.intercept, self.slope, self.directions):
            # Adding zero turns -0.0 into 0.0.
            digest.update((np.round(values, 6) + 0.0).astype("<f8").tobytes())
        return digest.hexdigest()


def fit_sources(matrix: ResponseMatrix, *, sources: NDArray[np.intp] | None = None) -> HsprModel:
    """Fit item parameters, residual factors and source-signature groups.

    The order of rows and columns does not change a bit of the result: both are sorted
    by id inside.

    Parameters
    ----------
    matrix : ResponseMatrix
        Full runs; all of them feed the item parameters and residual factors. Cells
        without a valid verdict are missing: they enter no sum, and are a symbol of
        their own in a signature.
    sources : ndarray of int, optional
        Rows that make up the signatures, `thin_sources` for a history with repeated
        runs of an agent; all rows by default, as published.

    Raises
    ------
    NotEnoughDataError
        Fewer than two runs with a valid verdict.
    InputError
        `sources` names no run with a valid verdict.
    FitError
        A parameter is not finite.
    """
    answered = np.flatnonzero((matrix.trials > 0).any(axis=1))
    rows = answered[order_by_id([matrix.run_ids[i] for i in answered])]
    if len(rows) < MIN_SOURCES:
        raise NotEnoughDataError(
            f"HSPR needs at least {MIN_SOURCES} source runs with valid verdicts, not {len(rows)}; "
            "import more full runs"
        )
    columns = order_by_id(matrix.question_ids)
    passes, trials = (counts[np.ix_(rows, columns)] for counts in (matrix.passes, matrix.trials))
    valid = trials > 0
    rates = outcome_rates(passes, trials)
    with one_thread():
        items = fit_items(rates, valid)
    in_signature = np.isin(rows, np.arange(matrix.n_runs) if sources is None else sources)
    if not in_signature.any():
        raise InputError("`sources` names no run with a valid verdict")
    groups = signature_groups(passes[in_signature], trials[in_signature])
    first = np.unique(groups, return_index=True)[1]
    passed = np.asarray(passes[in_signature].any(axis=0))
    group_of_question = np.empty_like(groups)
    group_of_question[columns] = groups
    return HsprModel(
        question_ids=matrix.question_ids,
        source_ids=tuple(matrix.run_ids[i] for i in rows[in_signature]),
        group_of_question=group_of_question,
        intercept=group_means(items.intercept, groups),
        slope=group_means(items.slope, groups),
        directions=group_means(items.directions, groups),
        rates=items.rates,
        source_zero=~passed[first],
        source_scores=rates.sum(axis=1) / valid.sum(axis=1),
        trial_correlation=trial_correlation(passes, trials, items.fitted),
    )


def trial_correlation(passes: ArrayLike, trials: ArrayLike, fitted: Floats) -> float:
    r"""Intraclass correlation of a question's trials within a run, by moments.

    From :math:`\mathrm{Var}(s) = n p (1-p) (1 + (n-1)\rho)`, summed over the cells
    with repeated trials and clipped to [0, 0.95]; `DEFAULT_TRIAL_CORRELATION` where
    there are none.
    """
    n = np.asarray(trials, dtype=np.float64)
    s = np.asarray(passes, dtype=np.float64)
    repeated = n > 1
    if not repeated.any():
        return DEFAULT_TRIAL_CORRELATION
    n, s, p = n[repeated], s[repeated], fitted[repeated]
    variance = p * (1.0 - p)
    excess = ((s - n * p) ** 2 - n * variance).sum()
    return float(np.clip(excess / (n * (n - 1.0) * variance).sum(), 0.0, 0.95))
