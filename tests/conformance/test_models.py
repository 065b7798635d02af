"""What every kind of model that nights fit and store must do."""

import dataclasses
import json
import math
from functools import cache

import numpy as np
import pytest

from recurring_eval.calibration.rasch import fit_rasch
from recurring_eval.hspr import HsprCalibration
from recurring_eval.methods.calibration import Calibration, CalibrationRuns, ModelKind
from recurring_eval.methods.hspr import HSPR_SOURCES, STAGED
from recurring_eval.methods.mirt_cat import MIRT
from recurring_eval.methods.registry import live_methods, model_kinds
from recurring_eval.response_matrix import ResponseMatrix
from tests.mirt_models import simulate_mirt

every_kind = pytest.mark.parametrize("kind", model_kinds(), ids=lambda kind: kind.name)

M, N = 24, 30


@cache
def matrix() -> ResponseMatrix:
    return simulate_mirt(M, N, 2, rng=np.random.default_rng(0), missing=0.05)


def runs(**changed: object) -> CalibrationRuns:
    return CalibrationRuns(matrix=matrix(), **changed)


@cache
def fitted(kind: ModelKind) -> object:
    return kind.fit(runs(), np.random.default_rng(1))


def stored(kind: ModelKind, model: object) -> object:
    """The model after its arrays were written and read back."""
    arrays = kind.to_arrays(model)
    assert all(isinstance(name, str) for name in arrays)
    assert {array.dtype.kind for array in arrays.values()} <= set("biufU")
    back = {
        name: np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
        for name, array in arrays.items()
    }
    return kind.from_arrays(back, matrix().question_ids)


def assert_same(one: object, other: object) -> None:
    """Equal field by field, arrays bit by bit."""
    assert type(one) is type(other)
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@every_kind
def test_a_stored_model_is_the_same_bit_for_bit(kind: ModelKind) -> None:
    model = fitted(kind)
    assert_same(stored(kind, model), model)
    assert_same(stored(kind, stored(kind, model)), model)


@every_kind
def test_a_fit_is_determined_by_the_generator(kind: ModelKind) -> None:
    assert_same(kind.fit(runs(), np.random.default_rng(1)), fitted(kind))
    alone = kind.fit(runs(n_threads=2), np.random.default_rng(1))
    assert_same(alone, fitted(kind))


@every_kind
def test_a_model_has_a_name_a_phrase_and_facts(kind: ModelKind) -> None:
    assert kind.name
    assert kind.title
    assert kind.stream
    assert isinstance(kind.describe(fitted(kind)), str)
    json.dumps(kind.facts(runs(), fitted(kind)), allow_nan=False)


@every_kind
def test_a_refit_on_fewer_runs_is_a_model_of_the_same_kind(kind: ModelKind) -> None:
    earlier = runs().earlier_half()
    model = kind.refit(earlier, fitted(kind), np.random.default_rng(2))
    assert type(model) is type(fitted(kind))
    calibration = Calibration(rasch=fit_rasch(earlier.matrix), fitted={kind.name: model})
    assert calibration[kind] is model


def test_a_refit_keeps_the_number_of_abilities_and_the_discrimination_sd() -> None:
    like = dataclasses.replace(fitted(MIRT), discrimination_sd=0.4)
    like = dataclasses.replace(
        like,
        discrimination=np.ones((N, 3)),
        ability=np.ones((M, 3)),
        prior_mean=np.zeros(3),
    )
    model = MIRT.refit(runs().earlier_half(), like, np.random.default_rng(2))
    assert (model.n_dimensions, model.discrimination_sd) == (3, 0.4)
    assert model.run_ids == matrix().run_ids[: M // 2]


def test_a_refit_of_hspr_keeps_the_configuration_but_for_its_resolution() -> None:
    like = fitted(HSPR_SOURCES)
    other = dataclasses.replace(
        like, config=dataclasses.replace(like.config, kappa=7.0, lambda_=0.125)
    )
    model = HSPR_SOURCES.refit(runs().earlier_half(), other, np.random.default_rng(2))
    resolution = ("path_nodes", "n_nodes", "refresh_every")
    assert model.config == dataclasses.replace(
        other.config, **{name: getattr(model.config, name) for name in resolution}
    )
    assert set(model.model.source_ids) <= set(matrix().run_ids[: M // 2])


def test_a_configuration_without_group_uncertainty_is_stored() -> None:
    like = fitted(HSPR_SOURCES)
    config = dataclasses.replace(like.config, kappa=math.inf, decision="mean", path_nodes=None)
    changed = dataclasses.replace(like, config=config)
    assert_same(stored(HSPR_SOURCES, changed), changed)


def test_what_was_selected_is_stored_without_the_evidence() -> None:
    few = CalibrationRuns(
        matrix=matrix().select_runs(slice(0, 5)), modes={HSPR_SOURCES.name: STAGED}
    )
    selected: HsprCalibration = HSPR_SOURCES.fit(few, np.random.default_rng(3))
    assert selected.selection is not None
    assert HSPR_SOURCES.facts(few, selected)["held_out"] == selected.selection.n_held_out
    json.dumps(HSPR_SOURCES.facts(few, selected), allow_nan=False)
    assert_same(stored(HSPR_SOURCES, selected), dataclasses.replace(selected, selection=None))


def test_kinds_are_those_of_live_methods_once() -> None:
    names = [kind.name for kind in model_kinds()]
    assert len(set(names)) == len(names)
    assert set(names) == {kind.name for method in live_methods() for kind in method.models}
