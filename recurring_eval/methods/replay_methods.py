"""Every method that replays compare, by name."""

from typing import Final

from recurring_eval.errors import InputError
from recurring_eval.methods.prepared import ReplayMethod
from recurring_eval.methods.random import RANDOM, RANDOM_GPIRT, RANDOM_PIRT
from recurring_eval.methods.replay_adaptive import MIRT_CAT, MIRT_CAT_STANDARD_PRIOR, RASCH_CAT
from recurring_eval.methods.replay_baselines import AIPW, MIDRANGE, MIDRANGE_RIDGE, RSL
from recurring_eval.methods.replay_cache import CACHE_REPLAYS
from recurring_eval.methods.replay_designs import replay_design
from recurring_eval.methods.replay_hspr import HSPR, HSPR_AVERAGE, HSPR_STAGED
from recurring_eval.methods.replay_item_models import (
    ATLAS,
    FAQ,
    RANDOM_FACTORS,
    STRATIFIED_RANDOM_FACTORS,
)
from recurring_eval.methods.replay_kmeans import KMEANS_REPLAYS
from recurring_eval.methods.replay_stratified_random import STRATIFIED_RANDOM
from recurring_eval.methods.stratified import STRATIFIED, STRATIFIED_GPIRT, STRATIFIED_PIRT

_PRODUCTION_STUDY: Final = "She and Lin 2026"

REPLAY_METHODS: Final[tuple[ReplayMethod, ...]] = (
    *(
        replay_design(method, _PRODUCTION_STUDY)
        for method in (
            RANDOM,
            RANDOM_PIRT,
            RANDOM_GPIRT,
            STRATIFIED,
            STRATIFIED_PIRT,
            STRATIFIED_GPIRT,
        )
    ),
    STRATIFIED_RANDOM,
    *CACHE_REPLAYS,
    *KMEANS_REPLAYS,
    RASCH_CAT,
    MIRT_CAT,
    MIRT_CAT_STANDARD_PRIOR,
    HSPR,
    HSPR_AVERAGE,
    HSPR_STAGED,
    MIDRANGE,
    MIDRANGE_RIDGE,
    RSL,
    AIPW,
    FAQ,
    ATLAS,
    RANDOM_FACTORS,
    STRATIFIED_RANDOM_FACTORS,
)

_WEIGHTED_SUFFIX: Final = "+weighted"
_WEIGHTING: Final = ("random", "stratified", "stratified-random", "response-kmeans", "irt-kmeans")


def replay_method_named(name: str) -> ReplayMethod:
    """Look a replayed method up; ``X+weighted`` is another name of a design X that weights.

    Raises
    ------
    InputError
        For an unknown name, listing the known ones.
    """
    by_name = {method.name: method for method in REPLAY_METHODS}
    plain = name.removesuffix(_WEIGHTED_SUFFIX)
    found = by_name.get(plain if plain in _WEIGHTING else name)
    if found is None:
        raise InputError(f"unknown method {name!r}; known are {', '.join(by_name)}")
    return found
