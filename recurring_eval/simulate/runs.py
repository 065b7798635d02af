"""The simulated runs of one agent family: schedule, releases, experiments, ability."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.simulate.options import SimulationOptions
from recurring_eval.simulate.questions import N_CLUSTERS

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
