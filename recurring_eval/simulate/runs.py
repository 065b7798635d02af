"""The simulated runs of one agent family: schedule, releases, experiments, ability."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import NotEnoughDataError
from recurring_eval.simulate.options import SimulationOptions
from recurring_eval.simulate.questions import (
    N_CLUSTERS,
    DrawnVerdicts,
    SimulatedQuestions,
    draw_loss_rates,
    draw_verdicts,
    kept_pass_probability,
    solve_mean_difficulty,
)

WEEKDAY_WEIGHTS: Final = (1.0, 1.15, 1.15, 1.1, 0.95, 0.35, 0.35)
DAILY_LOG_SD: Final = 0.2
TIME_OF_DAY: Final = (4.0, 3.0)
DAYS_BETWEEN_RELEASES: Final = 4.0
RELEASE_GAIN: Final = 0.15 * 4 / 52 * 3
RELEASE_SD: Final = 0.232
RELEASE_CLUSTER_SD: Final = 0.227
EXPERIMENT_SD: Final = 0.60
EXPERIMENT_CLUSTER_SD: Final = 1.40
FURTHER_BRANCH_RUNS: Final = 2.0
RUN_SD: Final = 0.45
RUN_CLUSTER_SD: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRuns:
    """The runs of one family in time order.

    Attributes
    ----------
    time : ndarray, shape (m,)
        Start in days since the start of day 1, ascending.
    release : ndarray of intp, shape (m,)
        Number of releases before the run.
    branch : ndarray of intp, shape (m,)
        Branch of an experiment, counted from 0; -1 for a routine run.
    ability : ndarray, shape (m, 1 + 3)
        General ability and the ability specific to each cluster.
    """

    time: NDArray[np.float64]
    release: NDArray[np.intp]
    branch: NDArray[np.intp]
    ability: NDArray[np.float64]


def draw_runs(
    options: SimulationOptions, *, n_runs: int | None = None, rng: np.random.Generator
) -> FamilyRuns:
    """Draw one family's runs, without regression.

    Parameters
    ----------
    options : SimulationOptions
    n_runs : int, optional
        Exact number of runs; by default the daily counts are Poisson.
    rng : numpy.random.Generator

    Notes
    -----
    The day factor is lognormal with mean 1, so that 52 days hold about 600 runs. The
    release path is centred over the runs, general ability and clusters alike. A branch
    offset does not end with a release: its runs may straddle one.
    """
    schedule_rng, release_rng, branch_rng, noise_rng = rng.spawn(4)
    time = _start_times(options, n_runs, schedule_rng)
    release, path = _release_path(options, time, release_rng)
    branch, offset = _experiments(options, time.size, branch_rng)
    noise = _abilities(time.size, RUN_SD, RUN_CLUSTER_SD, noise_rng)
    return FamilyRuns(time=time, release=release, branch=branch, ability=path + offset + noise)


def _start_times(
    options: SimulationOptions, n_runs: int | None, rng: np.random.Generator
) -> NDArray[np.float64]:
    weekday = (options.first_day.weekday() + np.arange(options.n_days)) % 7
    weight = np.array(WEEKDAY_WEIGHTS)[weekday] * rng.lognormal(
        -(DAILY_LOG_SD**2) / 2, DAILY_LOG_SD, options.n_days
    )
    if n_runs is None:
        busy = weight / np.mean(WEEKDAY_WEIGHTS)
        counts = rng.poisson(options.runs_per_day * busy)
    else:
        counts = rng.multinomial(n_runs, weight / weight.sum())
    day = np.repeat(np.arange(options.n_days), counts)
    return np.sort(day + rng.beta(*TIME_OF_DAY, day.size))


def _release_path(
    options: SimulationOptions, time: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    if options.quiet or time.size == 0:
        return np.zeros(time.size, dtype=np.intp), np.zeros((time.size, 1 + N_CLUSTERS))
    most = int(3 * options.n_days / DAYS_BETWEEN_RELEASES) + 20
    moments = np.cumsum(rng.exponential(DAYS_BETWEEN_RELEASES, most))
    shift = _abilities(most, RELEASE_SD, RELEASE_CLUSTER_SD, rng)
    shift[:, 0] += RELEASE_GAIN
    release = np.searchsorted(moments, time, side="right")
    level = np.vstack([np.zeros(1 + N_CLUSTERS), np.cumsum(shift, axis=0)])
    path = level[release]
    return release, path - path.mean(axis=0)


def _experiments(
    options: SimulationOptions, n_runs: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    experiment = np.flatnonzero(rng.random(n_runs) < options.experiment_share)
    sizes = 1 + rng.poisson(FURTHER_BRANCH_RUNS, experiment.size)
    branch = np.full(n_runs, -1, dtype=np.intp)
    branch[experiment] = np.repeat(np.arange(sizes.size), sizes)[: experiment.size]
    of_branch = _abilities(sizes.size, EXPERIMENT_SD, EXPERIMENT_CLUSTER_SD, rng)
    offset = np.zeros((n_runs, 1 + N_CLUSTERS))
    offset[experiment] = of_branch[branch[experiment]]
    return branch, offset


def _abilities(
    size: int, general_sd: float, cluster_sd: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    sd = np.array([general_sd] + [cluster_sd] * N_CLUSTERS)
    return np.asarray(rng.normal(size=(size, 1 + N_CLUSTERS)) * sd)


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
