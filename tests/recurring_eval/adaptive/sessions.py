"""Sessions of an adaptive rule on a given model."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from recurring_eval.adaptive import choose_by_information, choose_d_optimal
from recurring_eval.calibration.models import MirtModel, RaschModel
from recurring_eval.methods.calibration import Calibration
from recurring_eval.methods.cat import AdaptiveTest
from recurring_eval.methods.mirt_cat import MIRT, MIRT_CAT, model_of
from recurring_eval.methods.session import Session
from recurring_eval.validation import order_by_id
from tests.rasch_models import make_model

RULES = {"rasch-cat": choose_by_information, "mirt-cat": choose_d_optimal}


def calibration_of(model: RaschModel | MirtModel) -> Calibration:
    """Calibration that has the model."""
    if isinstance(model, RaschModel):
        return Calibration(rasch=model)
    rasch = make_model(model.difficulty, question_ids=model.question_ids)
    return Calibration(rasch=rasch, fitted={MIRT.name: model})


def start_session(
    model: RaschModel | MirtModel,
    *,
    rule: str,
    k: int,
    tie_order: ArrayLike | None = None,
    standard_prior: bool = False,
) -> Session:
    """Begin a session; equally good questions are asked in the order of their ids."""
    test = AdaptiveTest(model_of=model_of, choose=RULES[rule], standard_prior=standard_prior)
    if tie_order is None:
        tie_order = np.argsort(order_by_id(model.question_ids))
    return Session(
        method=dataclasses.replace(
            MIRT_CAT, begin=test.begin, score=test.score, replay=test.replay
        ),
        calibration=calibration_of(model),
        k=k,
        order=tuple(int(rank) for rank in np.asarray(tie_order)),
    )


def run_session(session: Session, verdicts: dict[str, tuple[int, int]], n: int = 1) -> Session:
    """Ask in rounds of n until the session is finished."""
    while asked := session.ask(n):
        session = session.tell({question: verdicts[question] for question in asked})
    return session
