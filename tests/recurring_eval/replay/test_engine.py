"""One method on one fold: streams, seeds, no leakage; and the pooling of folds."""

import dataclasses
from functools import partial

import numpy as np
import pytest

from recurring_eval.errors import NotEnoughDataError
from recurring_eval.methods.registry import method_named
from recurring_eval.methods.replayed import ReplayMethod, Scored
from recurring_eval.replay import protocols
from recurring_eval.replay.engine import run_fold
from recurring_eval.replay.splits import EVERYONE, parse_budgets
from recurring_eval.replay.summary import errors_by_target, summarise
from tests.response_matrices import simulate_rasch

SIZES = (6, 12)


def history(seed: int = 0, m: int = 24, n: int = 30, missing: float = 0.0):
    rng = np.random.default_rng(seed)
    runs = simulate_rasch(rng.normal(size=m), rng.normal(size=n), rng=rng, missing=missing)
    return dataclasses.replace(runs, agents=tuple(f"agent{i % 8}" for i in range(m)))


def streams(root: int, seed: int, *names: str) -> np.random.Generator:
    return np.random.default_rng([root, seed, *"/".join(names).encode()])


def run(matrix, fold, method, **changed):
    given = {
        "sizes": SIZES,
        "seeds": (0, 1, 2),
        "streams": partial(streams, 7),
        "cpu_clock": lambda: 0.0,
    }
    return run_fold(matrix, fold, method, **given | changed)


@dataclasses.dataclass
class Drawing:
    """A method that says what it drew; counts its preparations."""

    draws_in_fit: bool
    draws_when_asked: bool
    spawns: bool = False
    n_fits: int = 0

    def method(self, **changed) -> ReplayMethod:
        return ReplayMethod(name="drawing", description="", source="", fit=self.fit, **changed)

    def fit(self, source, rng):
        self.n_fits += 1
        self.fitted = rng.random() if self.draws_in_fit else 0.0
        return self.score

    def score(self, targets, k, rng):
        stream = rng.spawn(1)[0] if self.spawns else rng
        value = stream.random() if self.draws_when_asked else 0.25
        return Scored(
            score=np.full(targets.n_runs, value), observed=np.zeros(targets.trials.shape, bool)
        )


def test_a_method_that_draws_nothing_runs_under_one_seed() -> None:
    drawing = Drawing(draws_in_fit=False, draws_when_asked=False)
    (only,) = run(history(), chronological_fold(), drawing.method())
    assert (only.seed, only.random, drawing.n_fits) == (0, False, 1)


@pytest.mark.parametrize("spawns", [False, True])
@pytest.mark.parametrize("draws_in_fit", [False, True])
def test_a_preparation_serves_all_seeds(spawns: bool, draws_in_fit: bool) -> None:
    drawing = Drawing(draws_in_fit=draws_in_fit, draws_when_asked=True, spawns=spawns)
    results = run(history(), chronological_fold(), drawing.method())
    assert [r.seed for r in results] == [0, 1, 2]
    assert all(r.random for r in results)
    assert drawing.n_fits == 1
    assert [r.fit_cpu_s for r in results] == [0.0, None, None]
    assert len({float(b.pass_rate[0]) for r in results for b in r.budgets}) == 6


def test_a_preparation_draws_the_same_whatever_the_seed_of_asking() -> None:
    drawing = Drawing(draws_in_fit=True, draws_when_asked=False)
    (only,) = run(history(), chronological_fold(), drawing.method(), seeds=(4, 5))
    assert (only.seed, only.random, drawing.n_fits) == (4, False, 1)
    fitted = drawing.fitted
    run(history(), chronological_fold(), drawing.method())
    assert drawing.fitted == fitted


def test_an_outcome_budget_is_asked_once_and_stands_for_every_size() -> None:
    drawing = Drawing(draws_in_fit=False, draws_when_asked=True)
    results = run(history(), chronological_fold(), drawing.method(budget_is_outcome=True))
    for result in results:
        assert [budget.k for budget in result.budgets] == list(SIZES)
        assert result.budgets[0].pass_rate.tolist() == result.budgets[1].pass_rate.tolist()
        assert result.decides_budget


def test_results_do_not_depend_on_other_seeds_and_sizes() -> None:
    matrix, fold = history(), chronological_fold()
    method = method_named("random")
    everything = run(matrix, fold, method)
    (alone,) = run(matrix, fold, method, seeds=(2,), sizes=(12,))
    assert alone.budgets[0].pass_rate.tolist() == everything[2].budgets[1].pass_rate.tolist()


def test_cpu_is_counted_apart_for_fit_and_targets() -> None:
    ticks = iter(range(100))
    (only,) = run(
        history(),
        chronological_fold(),
        Drawing(draws_in_fit=False, draws_when_asked=False).method(),
        cpu_clock=lambda: float(next(ticks)),
    )
    assert (only.fit_cpu_s, [b.cpu_s for b in only.budgets]) == (1.0, [1.0, 1.0])


def test_a_failure_is_a_result() -> None:
    def refuse(source, rng):
        raise NotEnoughDataError("needs more runs")

    method = ReplayMethod(name="no", description="", source="", fit=refuse)
    (only,) = run(history(), chronological_fold(), method)
    assert (only.failure, only.budgets) == ("needs more runs", ())


@pytest.mark.parametrize(
    "name", ["random", "stratified", "stratified+gpirt", "stratified-random", "rasch-cat"]
)
def test_a_held_out_agents_verdicts_change_nobody_elses_estimate(name: str) -> None:
    matrix = history(missing=0.05)
    plan = protocols.folds(matrix.agents, n_folds=4, n_splits=1, rng=np.random.default_rng(1))
    fold = plan.splits[0].folds[0]
    victim = matrix.agents[fold.targets[0]]
    rows = np.array([agent == victim for agent in matrix.agents])
    flipped = matrix.passes.copy()
    flipped[rows] = (matrix.trials - matrix.passes)[rows]
    changed = dataclasses.replace(matrix, passes=flipped)
    method = method_named(name)
    for before, after in zip(run(matrix, fold, method), run(changed, fold, method), strict=True):
        for one, other in zip(before.budgets, after.budgets, strict=True):
            others = ~rows[fold.targets]
            assert one.pass_rate[others].tolist() == other.pass_rate[others].tolist()
            assert (one.pass_rate[~others] != other.pass_rate[~others]).any()


def chronological_fold():
    return protocols.chronological(24).splits[0].folds[0]


def replayed(matrix, plan, names, *, seeds=(0, 1)):
    return {
        (split.number, i, name): run(
            matrix,
            fold,
            method_named(name),
            name=name,
            seeds=seeds,
            streams=partial(streams, split.number * 10 + i),
        )
        for split in plan.splits
        for i, fold in enumerate(split.folds)
        for name in names
    }


def test_rows_pool_the_targets_of_a_split_then_average() -> None:
    matrix = history(missing=0.05)
    plan = protocols.folds(matrix.agents, n_folds=4, n_splits=3, rng=np.random.default_rng(1))
    results = replayed(matrix, plan, ["random"])
    rows = summarise(plan, results, matrix, methods=["random"], budgets=parse_budgets("6,40%"))
    assert [(row.budget, row.k) for row in rows] == [("6", 6), ("40%", 12)]
    truth = matrix.pass_rates()
    for place, row in enumerate(rows):
        maes, worst, all_errors = [], [], []
        for split in plan.splits:
            for seed in (0, 1):
                errors = np.concatenate(
                    [
                        results[split.number, i, "random"][seed].budgets[place].pass_rate
                        - truth[fold.targets]
                        for i, fold in enumerate(split.folds)
                    ]
                )
                maes.append(100 * np.abs(errors).mean())
                worst.append(100 * np.abs(errors).max())
                all_errors.extend(100 * np.abs(errors))
        assert row.metrics.mae_pp == pytest.approx(np.mean(maes))
        assert row.metrics.max_error_pp == pytest.approx(np.mean(worst))
        assert row.within_90_pp == pytest.approx(np.quantile(all_errors, 0.9))
        assert (row.n_splits, row.n_seeds, row.metrics.n_targets) == (3, 2, 24)
        assert row.targets.absolute_error_pp.mean() == pytest.approx(row.metrics.mae_pp)


def test_the_first_seed_stands_for_all_where_one_fold_drew_nothing() -> None:
    matrix = history()
    plan = protocols.folds(matrix.agents, n_folds=4, n_splits=1, rng=np.random.default_rng(1))
    results = replayed(matrix, plan, ["random"])
    fixed = results[0, 2, "random"][:1]
    results[0, 2, "random"] = fixed
    (row,) = summarise(plan, results, matrix, methods=["random"], budgets=parse_budgets("6"))
    assert (row.n_seeds, row.metrics.n_targets) == (2, 24)
    tested = plan.splits[0].folds[2].targets
    truth = matrix.pass_rates()[tested]
    found = row.targets.absolute_error_pp[tested]
    assert found == pytest.approx(100 * np.abs(fixed[0].budgets[0].pass_rate - truth))


def test_runs_of_one_agent_are_one_target_of_a_comparison() -> None:
    matrix = history()
    plan = protocols.folds(matrix.agents, n_folds=4, n_splits=2, rng=np.random.default_rng(1))
    rows = summarise(
        plan,
        replayed(matrix, plan, ["random", "stratified"]),
        matrix,
        methods=["random", "stratified"],
        budgets=parse_budgets("6"),
    )
    assert {row.group for row in rows} == {EVERYONE}
    table = errors_by_target(rows, matrix.agents)["6"]
    assert list(table) == ["random", "stratified"]
    by_run = rows[0].targets.absolute_error_pp
    assert table["random"].shape == (8,)
    assert table["random"][3] == pytest.approx(by_run[3::8].mean())


def test_a_failed_method_has_no_row() -> None:
    matrix = history()
    plan = protocols.chronological(24)
    results = replayed(matrix, plan, ["random"])
    failed = dataclasses.replace(results[0, 0, "random"][0], budgets=(), failure="no")
    results[0, 0, "broken"] = [failed]
    rows = summarise(
        plan, results, matrix, methods=["broken", "random"], budgets=parse_budgets("6")
    )
    assert [row.method for row in rows] == ["random"]
