"""A calibration: the fitted models of one night, by which methods ask and estimate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from recurring_eval.calibration.models import RaschModel
from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.response_matrix import ResponseMatrix

M = TypeVar("M")
OFF: Final = "off"
"""Mode of a kind of model that is not to be fitted."""

Arrays = Mapping[str, NDArray[Any]]
"""A model as stored: named arrays of floats or strings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRuns:
    """Full runs to fit on, and how.

    Attributes
    ----------
    matrix : ResponseMatrix
    configurations : tuple of str or None
        Agent and configuration of each run, empty where unknown; None where no run's is known.
    modes : mapping of str to str
        Kind of model -> how its settings are chosen; without an entry, the kind's own default.
    n_threads : int
        Candidates fitted at a time; no result depends on it.
    """

    matrix: ResponseMatrix
    configurations: tuple[str, ...] | None = None
    modes: Mapping[str, str] = field(default_factory=dict)
    n_threads: int = 1

    def in_time_order(self) -> "CalibrationRuns":
        """Sort the runs, oldest first."""
        rows, _ = self.matrix.canonical_order()
        return self._select(rows)

    def earlier_half(self) -> "CalibrationRuns":
        """Keep half of the runs, rounded down; the matrix must be in time order."""
        return self._select(np.arange(self.matrix.n_runs // 2))

    def _select(self, rows: NDArray[np.intp]) -> "CalibrationRuns":
        known = self.configurations
        return replace(
            self,
            matrix=self.matrix.select_runs(rows),
            configurations=None if known is None else tuple(known[i] for i in rows),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind(Generic[M]):
    """A kind of model that methods need beside the Rasch model.

    Attributes
    ----------
    name : str
        In stored calibrations and settings.
    title : str
        In messages.
    fit : callable
        ``fit(runs, rng)`` gives the model; NotEnoughDataError or FitError where it cannot.
    refit : callable
        ``refit(runs, like, rng)`` fits fewer runs with the settings of the model `like`, for
        residuals.
    to_arrays, from_arrays : callable
        The model as stored, and back; ``from_arrays(arrays, question_ids)`` gets the questions
        of the bank, which are stored with the Rasch model.
    describe : callable
        The model in a phrase for the job ledger.
    facts : callable
        What pages show of the model, as JSON.
    stream : tuple of str
        Name of the random stream that nights fit with.
    min_runs : int
        Nights with fewer runs do without.
    """

    name: str
    title: str
    fit: Callable[[CalibrationRuns, np.random.Generator], M]
    refit: Callable[[CalibrationRuns, M, np.random.Generator], M]
    to_arrays: Callable[[M], Arrays]
    from_arrays: Callable[[Arrays, tuple[str, ...]], M]
    describe: Callable[[M], str] = lambda _: ""
    facts: Callable[[CalibrationRuns, M], Mapping[str, object]] = lambda _runs, _model: {}
    stream: tuple[str, ...]
    min_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The Rasch model of a bank, and further fitted models by kind.

    Attributes
    ----------
    rasch : RaschModel
        n questions; every array of verdicts is aligned with its `question_ids`.
    fitted : mapping of str to object
        Name of the kind -> model.
    without : mapping of str to str
        Name of a kind that is not there -> why.

    Raises
    ------
    InputError
        A model has other questions than the Rasch model.
    """

    rasch: RaschModel
    fitted: Mapping[str, object] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, model in self.fitted.items():
            questions = getattr(model, "question_ids", self.question_ids)
            if questions != self.question_ids:
                raise InputError(f"the models `rasch` and `{name}` have different questions")

    @property
    def question_ids(self) -> tuple[str, ...]:
        """Questions in the order of every aligned array, length n."""
        return self.rasch.question_ids

    @property
    def n_questions(self) -> int:
        """Number of questions, n."""
        return self.rasch.n_questions

    def get(self, kind: ModelKind[M]) -> M | None:
        """Return the model of a kind, None where it is not there."""
        return cast("M | None", self.fitted.get(kind.name))

    def has(self, kinds: Sequence[ModelKind[Any]]) -> bool:
        """Whether every one of these kinds is there."""
        return all(kind.name in self.fitted for kind in kinds)

    def __getitem__(self, kind: ModelKind[M]) -> M:
        """Return the model of a kind.

        Raises
        ------
        NotEnoughDataError
            It is not there.
        """
        model = self.get(kind)
        if model is None:
            why = self.without.get(kind.name, "they were not fitted")
            raise NotEnoughDataError(
                f"the calibration has no {kind.title} ({why}); "
                "when that has changed, run `recurring-eval recalibrate --force`"
            )
        return model


def fit_calibration(
    matrix: ResponseMatrix, kinds: tuple[ModelKind[Any], ...], rng: np.random.Generator
) -> Calibration:
    """Fit the Rasch model and several kinds, one after another from one random stream."""
    runs = CalibrationRuns(matrix=matrix)
    return Calibration(
        fitted={kind.name: kind.fit(runs, rng) for kind in kinds}, rasch=fit_rasch(matrix)
    )
