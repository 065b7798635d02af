"""Every method, by name: the only list of them."""

from typing import Any, Final

from recurring_eval.errors import InputError
from recurring_eval.methods.atlas import ATLAS
from recurring_eval.methods.cache import CACHE, CACHE_RATE
from recurring_eval.methods.calibration import ModelKind
from recurring_eval.methods.factors import RANDOM_FACTORS, STRATIFIED_RANDOM_FACTORS
from recurring_eval.methods.faq import FAQ
from recurring_eval.methods.fixed import FixedMethod
from recurring_eval.methods.hspr import HSPR, HSPR_STAGED
from recurring_eval.methods.kmeans import (
    IRT_KMEANS,
    IRT_KMEANS_GPIRT,
    RESPONSE_KMEANS,
    RESPONSE_KMEANS_GPIRT,
)
from recurring_eval.methods.mirt_cat import MIRT_CAT, MIRT_CAT_STANDARD_PRIOR
from recurring_eval.methods.random import RANDOM, RANDOM_GPIRT, RANDOM_PIRT, STRATIFIED_RANDOM
from recurring_eval.methods.rasch_cat import RASCH_CAT
from recurring_eval.methods.regressions import AIPW, MIDRANGE, MIDRANGE_RIDGE, RSL
from recurring_eval.methods.replayed import ReplayMethod
from recurring_eval.methods.steps import StepMethod
from recurring_eval.methods.stratified import STRATIFIED, STRATIFIED_GPIRT, STRATIFIED_PIRT

Method = FixedMethod | StepMethod | ReplayMethod

METHODS: Final[tuple[Method, ...]] = (
    RANDOM,
    RANDOM_PIRT,
    RANDOM_GPIRT,
    STRATIFIED_GPIRT,
    STRATIFIED,
    STRATIFIED_PIRT,
    STRATIFIED_RANDOM,
    CACHE,
    CACHE_RATE,
    RESPONSE_KMEANS,
    RESPONSE_KMEANS_GPIRT,
    IRT_KMEANS,
    IRT_KMEANS_GPIRT,
    HSPR,
    HSPR_STAGED,
    RASCH_CAT,
    MIRT_CAT,
    MIRT_CAT_STANDARD_PRIOR,
    MIDRANGE,
    MIDRANGE_RIDGE,
    RSL,
    AIPW,
    FAQ,
    ATLAS,
    RANDOM_FACTORS,
    STRATIFIED_RANDOM_FACTORS,
)

DEFAULT_FIXED: Final = STRATIFIED_GPIRT
"""Estimates runs that were asked a fixed subset."""

DEFAULT_STEPS: Final = HSPR
"""Asks where no method is named."""


def method_named(name: str) -> Method:
    """Find a method by its name or another name of it.

    Raises
    ------
    InputError
        There is none, listing those there are.
    """
    for method in METHODS:
        if name == method.name or name in method.aliases:
            return method
    raise InputError(f"unknown method {name!r}; known are {', '.join(m.name for m in METHODS)}")


def live_methods() -> tuple[FixedMethod | StepMethod, ...]:
    """Methods that estimate runs; the others are there for replays alone."""
    return tuple(method for method in METHODS if not isinstance(method, ReplayMethod))


def checked_methods() -> tuple[FixedMethod | StepMethod, ...]:
    """Methods whose residuals nights keep, and that full runs are judged by."""
    return tuple(method for method in live_methods() if method.checked)


def model_kinds() -> tuple[ModelKind[Any], ...]:
    """Kinds of models that nights fit: those a live method needs."""
    return tuple({k.name: k for method in live_methods() for k in method.models}.values())
