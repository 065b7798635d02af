"""The adaptive rules by name."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from recurring_eval.adaptive.d_optimal import choose_d_optimal
from recurring_eval.adaptive.fisher import choose_by_information
from recurring_eval.adaptive.questions import AskableQuestions, Floats, Model
from recurring_eval.calibration.rasch import RaschModel
from recurring_eval.errors import InputError


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
    description : str
    """

    name: str
    choose: Choose
    rasch_only: bool
    description: str


RULES: Final = (
    AdaptiveRule(
        name="rasch-cat",
        choose=choose_by_information,
        rasch_only=True,
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
