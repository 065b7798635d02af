"""Sentences follow from the figures."""

import numpy as np
import pytest

from recurring_eval.replay.advise import Verdict, advise
from recurring_eval.replay.metrics import ScoreMetrics, TargetErrors
from recurring_eval.replay.summary import MetricRow
from tests.response_matrices import make_matrix

MATRIX = make_matrix(np.ones((3, 100), dtype=int))


def row(method: str, k: int, within: float, *, spearman: float = 0.9, group: str = "", **changed):
    given = {
        "group": group,
        "method": method,
        "budget": str(k),
        "k": k,
        "metrics": ScoreMetrics(
            mae_pp=within / 2,
            max_error_pp=2 * within,
            bias_pp=0.0,
            spearman=spearman,
            kendall_tau=spearman,
            execution_fraction=k / 100,
            coverage_90=float("nan"),
            width_90_pp=float("nan"),
            n_targets=3,
        ),
        "within_90_pp": within,
        "cpu_s_per_target": 0.0,
        "fit_cpu_s": 0.0,
        "n_splits": 1,
        "n_seeds": 1,
        "decides_budget": False,
        "targets": TargetErrors(
            rows=np.array([0, 2]),
            full_pass_rate=np.array([0.4, 0.5]),
            estimate=np.array([0.4, 0.5]),
            absolute_error_pp=np.array([1.0, 2.0]),
            worst_error_pp=np.array([1.0, -3.0]),
            first_error_pp=np.array([1.0, -3.0]),
        ),
    }
    return MetricRow(**given | changed)


def advice(*rows: MetricRow, n_source: int = 20, n_targets: int = 20):
    return advise(rows, MATRIX, n_source=n_source, n_targets=n_targets)


def test_the_smallest_sufficient_k_is_named_for_each_width() -> None:
    found = advice(row("a", 10, 6.0), row("a", 30, 2.9), row("b", 30, 2.5), row("b", 60, 1.9))
    assert found.k_for_pp == {2.0: ("b", 60), 3.0: ("b", 30), 5.0: ("b", 30)}
    assert found.verdict is Verdict.USABLE
    assert (found.method, found.budget) == ("b", "30")
    assert found.sentences[0].startswith("Usable: with b and 30 questions")
    assert "60 questions of 100 with b" in found.sentences[1]
    assert "r0002, estimated 47.0%, in full 50.0% (-3.0 pp)" in found.sentences[-1]


def test_unreached_widths_say_so() -> None:
    found = advice(row("a", 10, 4.0))
    assert found.k_for_pp == {2.0: None, 3.0: None, 5.0: ("a", 10)}
    assert found.sentences[1] == "For ±2 pp: none of the budgets tried is enough (up to 10)."


@pytest.mark.parametrize(
    ("within", "k", "spearman", "verdict"),
    [
        (4.9, 40, 0.1, Verdict.USABLE),
        (5.1, 40, 0.85, Verdict.TRACKING_ONLY),
        (4.9, 60, 0.85, Verdict.TRACKING_ONLY),  # more than half of the questions
        (5.1, 40, 0.7, Verdict.NOT_USABLE),
        (5.1, 40, float("nan"), Verdict.NOT_USABLE),
    ],
)
def test_verdicts(within: float, k: int, spearman: float, verdict: Verdict) -> None:
    assert advice(row("a", k, within, spearman=spearman)).verdict is verdict


def test_too_few_runs_are_said_to_be_too_few() -> None:
    for few in ({"n_source": 7}, {"n_targets": 7}):
        found = advice(row("a", 10, 1.0), **few)
        assert found.verdict is Verdict.TOO_LITTLE_DATA
        assert found.sentences[0].startswith("Too little data")


def test_other_groups_are_compared_with_the_first() -> None:
    found = advice(row("a", 10, 2.0, group="x"), row("a", 10, 3.0, group="y"))
    assert found.sentences[-1] == "Mean error of a with 10 questions: x 1.00 pp, y 1.50 pp."


def test_a_method_that_decides_its_budget_is_quoted_with_what_it_executed() -> None:
    metrics = row("cache", 10, 2.0).metrics
    found = advice(
        row(
            "cache",
            10,
            2.0,
            decides_budget=True,
            metrics=ScoreMetrics(
                **{f: getattr(metrics, f) for f in metrics.__slots__} | {"execution_fraction": 0.4}
            ),
        )
    )
    assert found.k_for_pp[2.0] == ("cache", 40)
