"""Agent-disjoint folds of a public bank, HSPR on every target, and the paper's metrics."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from recurring_eval.hspr import AVERAGE, HsprConfig, fit_sources, select_configuration
from tests.reference.hspr_ablations import (
    mid_range_path,
    uniform_path,
    with_mean_decision,
    without_hierarchy,
)
from tests.reference.hspr_runs import run_checkpoints

N_FOLDS = 4
FAST_PATH = 2048
"""Nodes while questions are chosen: as accurate as 8,192."""

Choose = Callable[[object, int], HsprConfig]


@dataclass(frozen=True)
class Metrics:
    """Percentage points; pooled over a split's targets, averaged over seeds and splits."""

    mae: float
    max_error: float
    tau: float
    bias: float

    def __str__(self):
        return (
            f"MAE {self.mae:.3f}  MaxErr {self.max_error:.2f}  tau-b {self.tau:.3f}  "
            f"bias {self.bias:+.2f}"
        )


def folds(n_agents: int, split: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, split])
    return [np.sort(part) for part in np.array_split(rng.permutation(n_agents), N_FOLDS)]


def average(sources, budget):
    return replace(AVERAGE, path_nodes=FAST_PATH)


def staged(sources, budget):
    selection = select_configuration(sources, budget=budget, rng=np.random.default_rng(0))
    return replace(selection.config, path_nodes=FAST_PATH)


def budgets_of(matrix, fractions: Sequence[float]) -> list[int]:
    return [round(fraction * matrix.n_questions) for fraction in fractions]


def errors_of_split(matrix, split, choose, *, seeds, budgets, transform=None, path="own"):
    """Estimates less truths, shape (n_agents, n_seeds, n_budgets), in percentage points."""
    truth = matrix.pass_rates()
    errors = np.empty((matrix.n_runs, seeds, len(budgets)))
    for target_rows in folds(matrix.n_runs, split):
        sources = matrix.select_runs(np.setdiff1d(np.arange(matrix.n_runs), target_rows))
        model = fit_sources(sources)
        config = choose(sources, round(0.1 * matrix.n_questions))
        if transform is not None:
            config = transform(config)
        for row in target_rows:
            for seed in range(seeds):
                given = None
                if path == "uniform":
                    given = uniform_path(matrix.n_questions, np.random.default_rng([seed, split]))
                elif path == "mid-range":
                    given = mid_range_path(sources)
                results = run_checkpoints(
                    model,
                    matrix.passes[row],
                    matrix.trials[row],
                    budgets=budgets,
                    config=config,
                    rng=np.random.default_rng([seed, int(row)]),
                    path=given,
                )
                errors[row, seed] = [100 * (r.pass_rate - truth[row]) for r in results]
    return errors


def metrics(matrix, errors) -> Metrics:
    """Of errors with shape (n_splits, n_agents, n_seeds) at one budget."""
    truth = 100 * matrix.pass_rates()
    tau = [
        stats.kendalltau(truth, truth + errors[split, :, seed]).statistic
        for split in range(errors.shape[0])
        for seed in range(errors.shape[2])
    ]
    return Metrics(
        mae=float(np.abs(errors).mean()),
        max_error=float(np.abs(errors).max(axis=1).mean()),
        tau=float(np.mean(tau)),
        bias=float(errors.mean()),
    )


def measure(matrix, choose, *, splits, seeds, fractions=(0.1,), transform=None, path="own"):
    """Metrics per budget fraction, and the errors (n_splits, n_agents, n_seeds, n_budgets)."""
    budgets = budgets_of(matrix, fractions)
    errors = np.stack(
        [
            errors_of_split(
                matrix, split, choose, seeds=seeds, budgets=budgets, transform=transform, path=path
            )
            for split in splits
        ]
    )
    return [metrics(matrix, errors[..., b]) for b in range(len(budgets))], errors


def paired_interval(one, other, *, draws=10_000):
    """Difference of MAE and its 95 % percentile bootstrap over agents.

    Errors have shape (n_splits, n_agents, n_seeds); an agent's absolute errors are
    averaged over splits and seeds first.
    """
    difference = np.abs(one).mean(axis=(0, 2)) - np.abs(other).mean(axis=(0, 2))
    rng = np.random.default_rng(0)
    samples = rng.choice(difference, size=(draws, len(difference))).mean(axis=1)
    low, high = np.quantile(samples, [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)


def ablation_table(matrix, choose, *, splits, seeds, name) -> str:
    """Rows of the ablation tables (hierarchy, adaptivity, decision) in Markdown."""
    settings = {
        "HSPR": {},
        "no group uncertainty": {"transform": without_hierarchy},
        "uniform queries": {"path": "uniform"},
        "mid-range queries": {"path": "mid-range"},
        "mean instead of median": {"transform": with_mean_decision},
    }
    errors = {
        label: measure(matrix, choose, splits=splits, seeds=seeds, **options)[1][..., 0]
        for label, options in settings.items()
    }
    lines = [
        f"| {name} | MAE pp | MaxErr pp | tau-b | MAE less HSPR's [95 %] |",
        "|---|---|---|---|---|",
    ]
    for label, of_label in errors.items():
        found = metrics(matrix, of_label)
        low_high = ""
        if label != "HSPR":
            difference, low, high = paired_interval(of_label, errors["HSPR"])
            low_high = f"{difference:+.3f} [{low:+.3f}, {high:+.3f}]"
        lines.append(
            f"| {label} | {found.mae:.3f} | {found.max_error:.2f} | {found.tau:.3f} | {low_high} |"
        )
    return "\n".join(lines)
