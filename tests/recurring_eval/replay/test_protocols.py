"""Protocols: who calibrates and who is tested."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.replay import protocols
from recurring_eval.replay.splits import EVERYONE, CalibrationSpan, spans_of_days, spans_of_runs

agents_of_runs = st.lists(st.sampled_from("abcdefghij"), min_size=6, max_size=40).filter(
    lambda agents: len(set(agents)) >= 4
)


@settings(max_examples=60)
@given(agents=agents_of_runs, n_folds=st.integers(2, 4), seed=st.integers(0, 99))
def test_folds_keep_agents_apart_and_test_every_run_once(agents, n_folds, seed) -> None:
    plan = protocols.folds(agents, n_folds=n_folds, n_splits=3, rng=np.random.default_rng(seed))
    assert len(plan.splits) == 3
    for split in plan.splits:
        tested = np.concatenate([fold.targets for fold in split.folds])
        assert sorted(tested) == list(range(len(agents)))
        sizes = []
        for fold in split.folds:
            sources = {agents[i] for i in fold.source}
            targets = {agents[i] for i in fold.targets}
            assert not sources & targets
            assert sources | targets == set(agents)
            assert len(fold.source) + len(fold.targets) == len(agents)
            sizes.append(len(targets))
        assert max(sizes) - min(sizes) <= 1


@given(agents=agents_of_runs, seed=st.integers(0, 99), data=st.data())
def test_folds_follow_the_agents_whatever_the_order_of_rows(agents, seed, data) -> None:
    order = data.draw(st.permutations(range(len(agents))))

    def assignment(names: list[str]) -> list[list[set[str]]]:
        plan = protocols.folds(names, n_folds=4, n_splits=2, rng=np.random.default_rng(seed))
        return [[{names[i] for i in fold.targets} for fold in s.folds] for s in plan.splits]

    assert assignment(agents) == assignment([agents[i] for i in order])


def test_more_splits_leave_the_first_as_they_were() -> None:
    agents = [f"a{i}" for i in range(14)]
    few, many = (protocols.folds(agents, n_splits=n, rng=np.random.default_rng(3)) for n in (2, 6))
    for one, other in zip(few.splits, many.splits, strict=False):
        for fold, same in zip(one.folds, other.folds, strict=True):
            assert fold.targets.tolist() == same.targets.tolist()
    distinct = {tuple(tuple(fold.targets) for fold in split.folds) for split in many.splits}
    assert len(distinct) == 6


def test_folds_refuse_what_they_cannot_do() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="3 agents cannot be divided into 4 folds"):
        protocols.folds(["a", "b", "c", "a"], rng=rng)
    with pytest.raises(InputError, match="at least 2 folds"):
        protocols.folds(["a", "b"], n_folds=1, rng=rng)


@pytest.mark.parametrize(("n", "half"), [(4, 2), (5, 2), (134, 67), (135, 67)])
def test_chronological_calibrates_on_the_first_half_rounded_down(n: int, half: int) -> None:
    (split,) = protocols.chronological(n).splits
    (fold,) = split.folds
    assert fold.source.tolist() == list(range(half))
    assert fold.targets.tolist() == list(range(half, n))
    assert split.groups[EVERYONE].tolist() == list(range(half, n))


def test_chronological_needs_four_runs() -> None:
    with pytest.raises(NotEnoughDataError, match="3 usable full runs"):
        protocols.chronological(3)


def test_transfer_tests_the_others_pooled_and_each_and_its_own_later_half() -> None:
    families = ["a", "b", "a", "c", "a", "a", "b", "a"]
    (split,) = protocols.transfer(families, calibrating="a").splits
    (fold,) = split.folds
    assert fold.source.tolist() == [0, 2]
    groups = {name: rows.tolist() for name, rows in split.groups.items()}
    assert groups == {
        protocols.POOLED: [1, 3, 6],
        "b": [1, 6],
        "c": [3],
        "a (later half)": [4, 5, 7],
    }
    assert sorted(fold.targets) == [1, 3, 4, 5, 6, 7]
    assert next(iter(split.groups)) == protocols.POOLED


def test_transfer_refuses_unknown_and_single_families() -> None:
    with pytest.raises(InputError, match="known: a, b"):
        protocols.transfer(["a", "b"], calibrating="z")
    with pytest.raises(InputError, match="needs runs of another"):
        protocols.transfer(["a"] * 8, calibrating="a")


def test_windows_are_nested_and_end_at_the_split() -> None:
    spans = [CalibrationSpan(name=f"{n}d", n_runs=n) for n in (10, 4, 2, 1)]
    plan = protocols.window(21, spans)
    assert plan.group_names == ("10d", "4d", "2d")  # one run cannot calibrate
    sources = [split.folds[0].source.tolist() for split in plan.splits]
    assert sources == [list(range(10)), [6, 7, 8, 9], [8, 9]]
    assert all(s.folds[0].targets.tolist() == list(range(10, 21)) for s in plan.splits)


def test_windows_of_four_weeks_are_those_of_the_production_study() -> None:
    start = datetime(2026, 1, 1, 12, tzinfo=UTC)
    starts = [start + timedelta(days=day) for day in range(28)]
    spans = spans_of_days(starts)
    # Start days 1, 4, ..., 28 of 28: ten nested windows.
    assert [span.name for span in spans] == [f"{29 - day}d" for day in range(1, 29, 3)]
    assert [span.n_runs for span in spans] == [29 - day for day in range(1, 29, 3)]


def test_windows_count_utc_days_back_from_the_last_run() -> None:
    start = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
    starts = [start, start + timedelta(hours=1), start + timedelta(hours=2)]
    assert [s.n_runs for s in spans_of_days(starts, [1, 2, 90])] == [3, 3, 2]
    assert [span.n_runs for span in spans_of_runs(20)] == list(range(20, 0, -2))
