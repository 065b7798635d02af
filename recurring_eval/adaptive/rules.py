"""The adaptive rules by name."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recurring_eval.adaptive.choice import choose_by_information, choose_d_optimal
from recurring_eval.adaptive.questions import AskableQuestions, Floats, askable_questions
from recurring_eval.calibration.models import Model, RaschModel
from recurring_eval.calibration.rasch import ABILITY_SD
from recurring_eval.errors import InputError

RASCH_PRECISION: Final = ABILITY_SD**-2
"""Prior precision of a run's ability around zero in ``rasch-cat``.

As published: a run starts at zero, with the ability prior of the calibration itself,
N(0, 1). A weak prior around recent runs, which the multidimensional rule needs, is worse
here: questions far from the ability do not follow equal slopes, and the prior makes up
for part of it.
"""


class Choose(Protocol):
    """Chooses the next n questions for each of m runs, see `choose_d_optimal`."""

    def __call__(
        self,
        questions: AskableQuestions,
        theta: Floats,
        information: Floats,
        available: NDArray[np.bool_],
        n: int,
    ) -> NDArray[np.intp]:
        """Positions of the chosen questions, (m, n)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveRule:
    """How a session chooses its next questions.

    Attributes
    ----------
    name : str
        Of the method, as users write it.
    choose : Choose
    rasch_only : bool
        Makes sense for a one-dimensional ability with equal slopes only.
    prior_mean, prior_precision : float or None
        Ability prior of a run where the caller gives none; None is the model's.
    description : str
    """

    name: str
    choose: Choose
    rasch_only: bool
    prior_mean: float | None = None
    prior_precision: float | None = None
    description: str


RULES: Final = (
    AdaptiveRule(
        name="rasch-cat",
        choose=choose_by_information,
        rasch_only=True,
        prior_mean=0.0,
        prior_precision=RASCH_PRECISION,
        description="one question at a time, where the Rasch model is least certain",
    ),
    AdaptiveRule(
        name="mirt-cat",
        choose=choose_d_optimal,
        rasch_only=False,
        description="one question at a time, D-optimal for several abilities",
    ),
)


def rule_named(name: str) -> AdaptiveRule:
    """Look an adaptive rule up.

    Raises
    ------
    InputError
        There is none of that name.
    """
    for rule in RULES:
        if rule.name == name:
            return rule
    known = ", ".join(rule.name for rule in RULES)
    raise InputError(f"there is no adaptive method {name!r}; choose one of {known}")


def questions_for(
    model: Model,
    *,
    method: str,
    prior_mean: ArrayLike | None = None,
    prior_precision: float | None = None,
    tie_order: ArrayLike | None = None,
) -> AskableQuestions:
    """Prepare a fitted model for asking by an adaptive rule.

    Parameters
    ----------
    model : RaschModel or MirtModel
    method : str
    prior_mean : array_like, shape (d,), or float for a Rasch model, optional
    prior_precision : float, optional
        The prior of the run's ability. By default what the rule says: for
        ``rasch-cat`` the calibration's N(0, 1), for ``mirt-cat`` the model's, weak and around
        recent runs. Zeros with precision one are the papers' N(0, I).
    tie_order : array_like of int, shape (n,), optional
        Rank of each of the model's questions among equally good ones, a
        permutation of 0..n-1; by default the order of their ids.

    Raises
    ------
    InputError
        The method does not exist or does not fit the model, or the prior or the
        ranks do not fit it.
    """
    rule = rule_for(method, model)
    return askable_questions(
        model,
        prior_mean=rule.prior_mean if prior_mean is None else prior_mean,
        prior_precision=rule.prior_precision if prior_precision is None else prior_precision,
        tie_order=tie_order,
    )


def rule_for(name: str, model: Model) -> AdaptiveRule:
    """`rule_named`, refused for a model it cannot work with.

    Raises
    ------
    InputError
    """
    rule = rule_named(name)
    if rule.rasch_only and not isinstance(model, RaschModel):
        raise InputError(f"{name} works with a Rasch model; this one has several abilities")
    return rule
