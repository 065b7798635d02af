"""Simulate the recurring runs of an evolving production agent.

The model reproduces the error table of the production study (She & Lin, 2026) within a
few percent; its constants sit beside the function that draws with them. Where the
model's description leaves a choice open, the docstring of the function states it.
"""

from datetime import UTC, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from recurring_eval.records import PASS
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.simulate.families import (
    FamilyHistory,
    centre_difficulty,
    draw_other_family,
    observe,
    regressed,
)
from recurring_eval.simulate.history import MAIN_FAMILY, SimulatedHistory
from recurring_eval.simulate.options import SimulationOptions
from recurring_eval.simulate.questions import SimulatedQuestions, draw_questions
from recurring_eval.simulate.runs import draw_runs
from recurring_eval.simulate.verdicts import DrawnVerdicts, draw_loss_rates


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
