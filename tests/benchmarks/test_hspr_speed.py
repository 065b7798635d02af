"""CPU time and memory of HSPR, against the naive double-precision implementation."""

import time
import tracemalloc

import numpy as np
import pytest

from recurring_eval.hspr import AVERAGE, fit_sources, select_configuration
from recurring_eval.hspr.proposal import normal_nodes
from tests.recurring_eval.hspr.builders import config_of, matrix_of
from tests.reference import naive_hspr as naive
from tests.reference.hspr_runs import order_of, run_hspr
from tests.response_matrices import read_wide_csv
from tests.shared_data import shared_path

pytestmark = pytest.mark.benchmark

R2G4 = config_of(2, 4.0)
B = 73


@pytest.fixture(scope="module")
def pro():
    return read_wide_csv(shared_path("data/swebench_pro.csv"))


@pytest.fixture(scope="module")
def pro_model(pro):
    return fit_sources(pro.select_runs(np.arange(11)))


def cpu_of(work, repeats=3):
    """Least CPU seconds of a few repeats, and the last result."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        best = min(best, time.process_time() - start)
    return best, result


def test_a_pro_target_costs_a_twelfth_of_the_naive_path_and_asks_the_same(pro, pro_model):
    target = pro.passes[12]
    normal_nodes(8192, 3)

    def fast():
        return run_hspr(
            pro_model,
            target,
            pro.trials[12],
            budget=B,
            config=R2G4,
            rng=np.random.default_rng(0),
        )

    reference = naive.NaiveModel(
        group_of_question=np.array(pro_model.group_of_question),
        b=np.array(pro_model.intercept),
        loadings=pro_model.loadings(2),
        precision=R2G4.latent[0].diagonal,
        kappa=1.0,
    )
    order = order_of(pro_model, np.random.default_rng(0))

    def slow():
        asked, posterior, n, s = naive.path(reference, target, B, order, 8192)
        median = naive.drawn_median(reference, posterior, n, s, np.random.default_rng(1))
        mean, _ = naive.score_moments(reference, posterior, n, s, s.sum())
        return asked, median, mean

    fast_cpu, result = cpu_of(fast)
    slow_cpu, (asked, median, mean) = cpu_of(slow, repeats=1)
    print(f"\nPro B=73 J=8192: fast {fast_cpu:.3f} s, naive {slow_cpu:.2f} s, ", end="")
    print(f"ratio {slow_cpu / fast_cpu:.1f}, mean differs by {abs(mean - result.mean):.1e}")
    assert result.asked == tuple(pro_model.question_ids[q] for q in asked)
    assert result.mean == pytest.approx(mean, abs=1e-7)
    assert result.median == pytest.approx(median, abs=1.0 / pro.n_questions + 1e-12)
    assert fast_cpu <= 0.5
    assert slow_cpu >= 12 * fast_cpu


@pytest.mark.parametrize("config", [R2G4, AVERAGE], ids=["r2g4", "average"])
def test_a_bank_shaped_like_the_full_benchmark(config):
    rng = np.random.default_rng(0)
    # 275 distinct signatures of eleven sources and one group of never-passed questions.
    patterns = np.unique(rng.integers(0, 2, (900, 11)), axis=0)
    patterns = patterns[patterns.any(axis=1)]
    patterns = patterns[rng.permutation(len(patterns))[:275]]
    extra = rng.choice(275, size=2294 - 947 - 275, p=rng.dirichlet(np.full(275, 0.4)))
    columns = np.concatenate([np.zeros((947, 11), dtype=int), patterns, patterns[extra]])
    columns = columns[rng.permutation(2294)]
    model = fit_sources(matrix_of(columns.T))
    assert model.n_groups == 276
    target = (rng.random(2294) < 0.02 + 0.9 * columns.mean(axis=1)).astype(int)

    def evaluate():
        return run_hspr(model, target, np.ones_like(target), budget=229, config=config, rng=rng)

    cpu, result = cpu_of(evaluate, repeats=1)
    tracemalloc.start()
    evaluate()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    print(f"\nFull-shaped, {config.name}: {cpu:.2f} s, {peak:.0f} MB")
    assert result.n_valid == 229
    assert cpu <= 4.0
    assert peak < 1000.0


def test_staged_selection_on_a_pro_fold(pro):
    sources = pro.select_runs(np.arange(11))
    cpu, selection = cpu_of(
        lambda: select_configuration(sources, budget=B, rng=np.random.default_rng(0)), repeats=1
    )
    print(f"\nstaged selection: {cpu:.1f} s -> {selection.config.name}")
    assert cpu <= 15.0
