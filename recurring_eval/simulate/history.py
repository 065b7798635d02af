"""A simulated history of an evolving agent, with everything that is true of it."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.records import FULL_RUN_MIN_VALID, PASS, RunLog, RunPurpose
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.simulate.options import SimulationOptions
from recurring_eval.simulate.questions import (
    MISSING_REASONS,
    DrawnVerdicts,
    SimulatedQuestions,
    draw_loss_rates,
    draw_questions,
)
from recurring_eval.simulate.runs import (
    FamilyHistory,
    centre_difficulty,
    draw_other_family,
    draw_runs,
    observe,
    regressed,
)

MAIN_FAMILY: Final = "main"
"""Name of the agent family the bank is calibrated for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedHistory:
    """Runs in time order, their verdicts and the truth behind them.

    m runs, n questions.

    Attributes
    ----------
    options : SimulationOptions
    questions : SimulatedQuestions
    matrix : ResponseMatrix
        All runs, also those with too few valid verdicts.
    verdicts : DrawnVerdicts
        Trial by trial, with reasons and lost passes.
    day : ndarray of intp, shape (m,)
        Day of the run, from 1.
    is_routine : ndarray of bool, shape (m,)
        False for an experiment.
    families : tuple of str
        Agent family of each run.
    config_keys : tuple of str
        Equal for runs of the same agent in the same release and branch.
    regraded : ndarray of bool, shape (n,)
        Questions that a grader change affects, when there is one.
    ability : ndarray, shape (m, 1 + 3)
        General ability and the ability specific to each cluster.
    difficulty : ndarray, shape (m, n)
        Difficulty for the run's family at the run's time.
    loss_rate : ndarray, shape (m,)
        Share of its passes the run loses to infrastructure.
    probabilities : ndarray, shape (m, n)
        Probability that a valid trial is recorded as a pass.
    """

    options: SimulationOptions
    questions: SimulatedQuestions
    matrix: ResponseMatrix
    verdicts: DrawnVerdicts
    day: NDArray[np.intp]
    is_routine: NDArray[np.bool_]
    families: tuple[str, ...]
    config_keys: tuple[str, ...]
    regraded: NDArray[np.bool_]
    ability: NDArray[np.float64]
    difficulty: NDArray[np.float64]
    loss_rate: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Runs with enough valid verdicts to calibrate and check on, shape (m,)."""
        n_valid = (self.matrix.trials > 0).sum(axis=1)
        return np.asarray(n_valid >= FULL_RUN_MIN_VALID * self.matrix.n_questions)

    def calibration_rows(self, family: str = MAIN_FAMILY) -> NDArray[np.intp]:
        """Rows of the covered runs of `family` in the calibration half."""
        return self._rows(family, self.day <= self.options.calibration_days)

    def test_rows(self, family: str = MAIN_FAMILY) -> NDArray[np.intp]:
        """Rows of the covered runs of `family` in the test half."""
        return self._rows(family, self.day > self.options.calibration_days)

    def _rows(self, family: str, in_half: NDArray[np.bool_]) -> NDArray[np.intp]:
        of_family = np.array([name == family for name in self.families], dtype=np.bool_)
        return np.flatnonzero(of_family & in_half & self.covered)


def simulate_history(options: SimulationOptions, *, rng: np.random.Generator) -> SimulatedHistory:
    """Simulate the runs of every agent family on one bank of questions.

    Parameters
    ----------
    options : SimulationOptions
    rng : numpy.random.Generator
        The only source of randomness. Each part of the history draws from its own
        generator spawned off it, so that an incident disturbs no other part.

    Returns
    -------
    SimulatedHistory

    Raises
    ------
    InputError
        `options.mean_pass_rate` cannot be reached.
    NotEnoughDataError
        The main family has no run in the test half.
    """
    question_rng, run_rng, loss_rng, verdict_rng, grader_rng, other_rng = rng.spawn(6)
    runs = draw_runs(options, rng=run_rng)
    loss_rate = draw_loss_rates(runs.time.size, rng=loss_rng)
    questions = draw_questions(options, rng=question_rng)
    questions = centre_difficulty(options, questions, runs, loss_rate)
    regraded = grader_rng.random(options.n_questions) < options.grader_change_share

    main = observe(
        options, questions, regressed(options, runs), loss_rate, regraded, rng=verdict_rng
    )
    others = [
        draw_other_family(options, questions, n_runs, regraded, rng=family_rng)
        for n_runs, family_rng in zip(
            options.other_families, other_rng.spawn(len(options.other_families)), strict=True
        )
    ]
    return _in_time_order(options, questions, regraded, [main, *others])


def _in_time_order(
    options: SimulationOptions,
    questions: SimulatedQuestions,
    regraded: NDArray[np.bool_],
    families: list[FamilyHistory],
) -> SimulatedHistory:
    moments = np.concatenate([family.runs.time for family in families])
    order = np.argsort(moments, kind="stable")
    family_of = np.repeat(np.arange(len(families)), [f.runs.time.size for f in families])[order]
    release = np.concatenate([f.runs.release for f in families])[order]
    branch = np.concatenate([f.runs.branch for f in families])[order]
    verdicts = DrawnVerdicts(
        outcome=np.concatenate([f.verdicts.outcome for f in families])[order],
        reason=np.concatenate([f.verdicts.reason for f in families])[order],
        lost=np.concatenate([f.verdicts.lost for f in families])[order],
    )
    names = (MAIN_FAMILY, *(f"family-{i}" for i in range(2, len(families) + 1)))
    of_run = tuple(names[i] for i in family_of)
    return SimulatedHistory(
        options=options,
        questions=questions,
        matrix=_matrix(options, questions, verdicts, moments[order], of_run),
        verdicts=verdicts,
        day=np.floor(moments[order]).astype(np.intp) + 1,
        is_routine=branch < 0,
        families=of_run,
        config_keys=tuple(
            f"{name}-release-{r:02d}" + ("" if b < 0 else f"-branch-{b:03d}")
            for name, r, b in zip(of_run, release, branch, strict=True)
        ),
        regraded=regraded,
        ability=np.concatenate([f.runs.ability for f in families])[order],
        difficulty=np.concatenate([f.difficulty for f in families])[order],
        loss_rate=np.concatenate([f.loss_rate for f in families])[order],
        probabilities=np.concatenate([f.probability for f in families])[order],
    )


def _matrix(
    options: SimulationOptions,
    questions: SimulatedQuestions,
    verdicts: DrawnVerdicts,
    moments: NDArray[np.float64],
    of_run: tuple[str, ...],
) -> ResponseMatrix:
    start = datetime.combine(options.first_day, time(), tzinfo=UTC)
    width = max(4, len(str(moments.size)))
    return ResponseMatrix(
        passes=(verdicts.outcome == PASS).sum(axis=2, dtype=np.int16),
        trials=(verdicts.reason < 0).sum(axis=2, dtype=np.int16),
        run_ids=tuple(f"run-{i:0{width}d}" for i in range(1, moments.size + 1)),
        question_ids=questions.question_ids,
        started_at=tuple(start + timedelta(seconds=int(86400 * moment)) for moment in moments),
        agents=tuple(f"{name}-agent" for name in of_run),
    )


HARNESS: Final = "simulated"
RUN_DURATION: Final = timedelta(hours=3)


def simulated_logs(history: SimulatedHistory, *, benchmark: str) -> list[RunLog]:
    """One log per run, in time order, with every trial of every question.

    Parameters
    ----------
    history : SimulatedHistory
    benchmark : str
        Benchmark the logs name.

    Returns
    -------
    list of RunLog
        Trial numbers start at 1; durations and costs are unknown.
    """
    n, n_trials = history.matrix.n_questions, history.options.n_trials
    question_index = np.repeat(np.arange(n, dtype=np.int32), n_trials)
    trial = np.tile(np.arange(1, n_trials + 1, dtype=np.int16), n)
    unknown = np.full(question_index.size, np.nan)
    return [
        RunLog(
            run_key=history.matrix.run_ids[row],
            benchmark=benchmark,
            agent=history.matrix.agents[row],
            agent_config=history.config_keys[row],
            agent_family=history.families[row],
            purpose=RunPurpose.ROUTINE if history.is_routine[row] else RunPurpose.EXPERIMENT,
            started_at=history.matrix.started_at[row],
            finished_at=history.matrix.started_at[row] + RUN_DURATION,
            harness=HARNESS,
            question_ids=history.matrix.question_ids,
            content_hashes=("",) * n,
            question_index=question_index,
            trial=trial,
            outcome=history.verdicts.outcome[row].ravel(),
            reasons=MISSING_REASONS,
            reason_index=history.verdicts.reason[row].ravel().astype(np.int16),
            duration_s=unknown,
            cost=unknown,
        )
        for row in range(history.matrix.n_runs)
    ]
