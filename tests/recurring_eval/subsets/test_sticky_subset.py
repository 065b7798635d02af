"""Sticky subsets: who stays, who goes, and when a new version is published."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.subsets import should_publish, sticky_subset, stratified_subset
from tests.rasch_models import make_model, strata


def test_nothing_changes_under_the_same_model() -> None:
    model = make_model(np.random.default_rng(0).normal(size=50))
    first = stratified_subset(model, "b", 12)
    assert sticky_subset(first, model, "b", 12).sha256 == first.sha256


def test_a_member_stays_in_its_stratum_though_no_longer_nearest() -> None:
    before = stratified_subset(make_model([0, 1, 2, 10, 11, 12]), "b", 2)
    assert before.question_ids == ("q0001", "q0004")
    moved = make_model([0, 2.5, 2, 10, 11, 12])
    assert stratified_subset(moved, "b", 2).question_ids == ("q0002", "q0004")
    assert sticky_subset(before, moved, "b", 2).question_ids == ("q0001", "q0004")


def test_of_two_members_in_a_stratum_the_nearer_stays_and_the_empty_one_is_filled() -> None:
    before = stratified_subset(make_model([0, 1, 2, 10, 11, 12]), "b", 2)
    moved = make_model([8, 9.2, 9, 0, 9.4, 1])
    after = sticky_subset(before, moved, "b", 2)
    # Strata (3, 5, 0) and (2, 1, 4); median of the second is question 1's.
    assert after.question_ids == ("q0001", "q0005")


def test_members_the_bank_lost_are_let_go() -> None:
    before = stratified_subset(make_model([0, 1, 2, 10, 11, 12]), "b", 2)
    smaller = make_model([0, 2, 10, 12], question_ids=("q0000", "q0002", "q0003", "q0005"))
    assert sticky_subset(before, smaller, "b2", 2).question_ids == ("q0000", "q0003")


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(5, 40), st.data())
def test_every_stratum_keeps_a_member_if_it_has_one(seed: int, n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    difficulty = np.round(rng.normal(size=n), 1)
    before = stratified_subset(make_model(difficulty), "b", data.draw(st.integers(1, n)))
    model = make_model(difficulty + np.round(rng.normal(0, 0.4, size=n), 1))
    after = sticky_subset(before, model, "b", k)
    assert after.k == k
    for members in strata(model, k):
        ids = {model.question_ids[j] for j in members}
        (chosen,) = ids & set(after.question_ids)
        former = ids & set(before.question_ids)
        assert not former or chosen in former
    assert after.weights.sum() == pytest.approx(1.0)


def test_publishing_needs_a_cause() -> None:
    subset = stratified_subset(make_model([0, 1, 2, 3]), "b", 2)
    assert should_publish(None, bank_version="b").publish
    assert not should_publish(subset, bank_version="b").publish
    assert should_publish(dataclasses.replace(subset, bank_version="a"), bank_version="b").publish
    assert should_publish(subset, bank_version="b", requested=True).publish
    assert should_publish(subset, bank_version="b", drift_asked=True).publish
    assert not should_publish(subset, bank_version="b", replayed_gain_pp=0.1).publish
    decision = should_publish(subset, bank_version="b", replayed_gain_pp=0.11)
    assert decision.publish
    assert "0.11 pp" in decision.reason
