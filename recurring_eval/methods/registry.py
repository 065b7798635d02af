"""Every method by name."""

from typing import Final

from recurring_eval.errors import InputError
from recurring_eval.methods.cache import CACHE, CACHE_RATE
from recurring_eval.methods.hspr import HSPR
from recurring_eval.methods.method import Method
from recurring_eval.methods.random import RANDOM, RANDOM_GPIRT, RANDOM_PIRT
from recurring_eval.methods.stratified import STRATIFIED, STRATIFIED_GPIRT, STRATIFIED_PIRT

METHODS: Final[tuple[Method, ...]] = (
    RANDOM,
    RANDOM_PIRT,
    RANDOM_GPIRT,
    CACHE,
    CACHE_RATE,
    STRATIFIED,
    STRATIFIED_PIRT,
    STRATIFIED_GPIRT,
    HSPR,
)

_WEIGHTED_SUFFIX: Final = "+weighted"


def method_named(name: str) -> Method:
    """Look a method up; ``X+weighted`` is another name of a method X that weights.

    Raises
    ------
    InputError
        For an unknown name, listing the known ones.
    """
    by_name = {method.name: method for method in METHODS}
    if name in by_name:
        return by_name[name]
    plain = by_name.get(name.removesuffix(_WEIGHTED_SUFFIX))
    if (
        plain is not None
        and plain.score is not None
        and not plain.needs_cache
        and "+" not in plain.name
    ):
        return plain
    raise InputError(f"unknown method {name!r}; known are {', '.join(by_name)}")
