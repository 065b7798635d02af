"""One agent family's runs on the bank, from abilities to verdicts."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import NotEnoughDataError
from recurring_eval.simulate.options import SimulationOptions
from recurring_eval.simulate.questions import N_CLUSTERS, SimulatedQuestions
from recurring_eval.simulate.runs import FamilyRuns, draw_runs
from recurring_eval.simulate.verdicts import (
    DrawnVerdicts,
    draw_loss_rates,
    draw_verdicts,
    kept_pass_probability,
    solve_mean_difficulty,
)

DIFFICULTY_SD: Final = 0.7
CLUSTER_SD: Final = 0.5
ABILITY_OFFSET: Final = (-0.2, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyHistory:
    """One family's runs with their verdicts; rows are aligned with `runs`.

    Attributes
    ----------
    runs : FamilyRuns
        With regression and family offset applied.
    difficulty : ndarray, shape (m, n)
    loss_rate : ndarray, shape (m,)
    probability : ndarray, shape (m, n)
        Probability that a valid trial is recorded as a pass.
    verdicts : DrawnVerdicts
    """

    runs: FamilyRuns
    difficulty: NDArray[np.float64]
    loss_rate: NDArray[np.float64]
    probability: NDArray[np.float64]
    verdicts: DrawnVerdicts


def centre_difficulty(
    options: SimulationOptions,
    questions: SimulatedQuestions,
    runs: FamilyRuns,
    loss_rate: NDArray[np.float64],
) -> SimulatedQuestions:
    """Shift the bank's difficulty so that the test half has the wanted mean pass rate.

    The mean is over all questions and all runs of the test half, infrastructure losses
    included, regression and grader change not.

    Raises
    ------
    NotEnoughDataError
        The test half has no run.
    InputError
        The pass rate is out of reach.
    """
    test = runs.time >= options.calibration_days
    if not test.any():
        raise NotEnoughDataError(
            f"the simulated days {options.calibration_days + 1} to {options.n_days} have no run; "
            "raise `runs_per_day` or `n_days`"
        )
    constant = solve_mean_difficulty(
        questions,
        runs.ability[test],
        questions.difficulty_at(runs.time[test]),
        loss_rate[test],
        options.mean_pass_rate,
    )
    return replace(questions, difficulty=questions.difficulty + constant)


def regressed(options: SimulationOptions, runs: FamilyRuns) -> FamilyRuns:
    """Lower the general ability from `options.regression_day` on."""
    if options.regression_day is None:
        return runs
    ability = runs.ability.copy()
    ability[runs.time >= options.regression_day - 1, 0] -= options.regression_size
    return replace(runs, ability=ability)


def observe(
    options: SimulationOptions,
    questions: SimulatedQuestions,
    runs: FamilyRuns,
    loss_rate: NDArray[np.float64],
    regraded: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
) -> FamilyHistory:
    """Verdicts of `runs`, whose `loss_rate` is given, graded as the options say.

    Parameters
    ----------
    options : SimulationOptions
    questions : SimulatedQuestions
        With this family's difficulty.
    runs : FamilyRuns
    loss_rate : ndarray, shape (m,)
    regraded : ndarray of bool, shape (n,)
        Questions that a grader change affects.
    rng : numpy.random.Generator
    """
    difficulty = questions.difficulty_at(runs.time)
    kept = kept_pass_probability(questions, runs.ability, difficulty)
    if options.grader_change_day is not None:
        changed = runs.time >= options.grader_change_day - 1
        kept[np.ix_(changed, regraded)] *= options.grader_change_factor
    verdicts = draw_verdicts(options, questions, kept, loss_rate, rng=rng)
    lost = kept * loss_rate[:, None]
    probability = kept - lost
    if options.lost_passes == "missing":
        probability = probability / (1 - lost)
    return FamilyHistory(
        runs=runs,
        difficulty=difficulty,
        loss_rate=loss_rate,
        probability=probability,
        verdicts=verdicts,
    )


def draw_other_family(
    options: SimulationOptions,
    questions: SimulatedQuestions,
    n_runs: int,
    regraded: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
) -> FamilyHistory:
    """Draw a further family of exactly `n_runs` runs with releases and branches of its own.

    Question difficulty is perturbed by N(0, .7^2) and by N(0, .5^2) per cluster; the
    general ability is offset by N(-.2, .5^2).
    """
    bank_rng, run_rng, loss_rng, verdict_rng = rng.spawn(4)
    own = bank_rng.normal(0, DIFFICULTY_SD, questions.difficulty.size)
    of_cluster = bank_rng.normal(0, CLUSTER_SD, N_CLUSTERS)[questions.cluster]
    offset = bank_rng.normal(*ABILITY_OFFSET)
    perturbed = replace(questions, difficulty=questions.difficulty + own + of_cluster)
    runs = draw_runs(options, n_runs=n_runs, rng=run_rng)
    ability = runs.ability + offset * np.eye(1 + N_CLUSTERS)[0]
    loss_rate = draw_loss_rates(n_runs, rng=loss_rng)
    return observe(
        options,
        perturbed,
        replace(runs, ability=ability),
        loss_rate,
        regraded,
        rng=verdict_rng,
    )
