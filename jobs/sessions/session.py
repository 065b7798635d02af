"""An adaptive session: start, ask, tell and show, rebuilt from what the history keeps of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.app.targets import Target, one_benchmark, one_target
from jobs.estimating.asked import StepByStep, calibration_in_use
from jobs.estimating.estimate import asking_method
from jobs.estimating.run_estimates import RunEstimate, estimate_verdicts
from jobs.randomness import generator
from jobs.sessions.answers import Answer, new_answers
from recurring_eval.errors import InputError
from recurring_eval.methods.registry import DEFAULT_STEPS
from recurring_eval.methods.session import Session
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.validation import require_subset_size
from storage.calibrations.calibrations import (
    StoredCalibration,
    calibration_by_id,
    load_calibration,
)
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names
from storage.runs.runs import list_runs
from storage.sessions import (
    SessionRecord,
    add_steps,
    find_session,
    list_sessions,
    save_session,
)

UNKNOWN_AGENT: Final = "unknown"
LONGEST_AGENT: Final = 200
_SEEDS: Final = 2**32
_MOST_SEEDS: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveSession:
    """A stored session with the calibration it was opened under.

    Attributes
    ----------
    record : SessionRecord
    calibration : StoredCalibration
    view : BenchmarkView
        Which missing verdicts count as fails, and the level of intervals.
    asking : Session
        Has taken in every step of the record.
    questions : tuple of str
        Chosen to be run next; none when finished.
    estimate : RunEstimate or None
        None before any valid verdict.
    run_key : str or None
        The run that a finished session became.
    new : tuple of Answer
        What the last command stored.
    """

    record: SessionRecord
    calibration: StoredCalibration
    view: BenchmarkView
    asking: Session
    questions: tuple[str, ...] = ()
    estimate: RunEstimate | None = None
    run_key: str | None = None
    new: tuple[Answer, ...] = ()

    @property
    def n_left(self) -> int:
        """Valid verdicts still wanted."""
        return max(0, self.record.k - self.asking.n_valid)

    def estimated(self) -> Self:
        """Estimate as the session's run will be; there is none before any valid verdict."""
        if not self.asking.n_valid:
            return self
        record, ids = self.record, self.calibration.fitted.question_ids
        passes, trials = np.zeros((2, 1, len(ids)), dtype=np.int16)
        for question, n_passes, n_trials in self.asking.answers:
            passes[0, question], trials[0, question] = n_passes, n_trials
        verdicts = ResponseMatrix(
            passes=passes,
            trials=trials,
            run_ids=(record.session_id,),
            question_ids=ids,
            started_at=(record.opened_at,),
            agents=(record.agent,),
        )
        asked = StepByStep(
            question_ids=frozenset(self.asking.asked), k=record.k, chosen_by=record.method
        )
        estimate = estimate_verdicts(
            self.view, self.calibration, verdicts, asked=asked, method=self.asking.method
        )
        return replace(self, estimate=estimate)

    def asked_next(self, n: int) -> Self:
        """Estimate, and choose the next questions to run; none of a finished session."""
        questions = () if self.record.finished_at is not None else self.asking.ask(n)
        return replace(self.estimated(), questions=questions)


def load_session(app: App, history: History, record: SessionRecord) -> AdaptiveSession:
    """Load what a stored session needs; nothing is computed yet.

    Raises
    ------
    InputError
        If its calibration is gone or cannot ask.
    """
    info = calibration_by_id(history, record.calibration_id)
    calibration = load_calibration(history, info, asking_method(record.method).models)
    return rebuild(record, calibration, app.view(record.benchmark))


def rebuild(
    record: SessionRecord, calibration: StoredCalibration, view: BenchmarkView
) -> AdaptiveSession:
    """Rebuild a session from its seed and steps.

    Raises
    ------
    NotEnoughDataError
        The calibration lacks a model that the method needs.
    """
    # The order of equals depends on the seed alone, so that the steps may be replayed.
    begun = Session.start(
        asking_method(record.method),
        calibration.fitted,
        k=record.k,
        rng=generator(record.seed, "adaptive", "order"),
    )
    return AdaptiveSession(
        record=record,
        calibration=calibration,
        view=view,
        asking=begun.tell(view.counts_of_steps(record.steps)),
    )


def open_sessions(app: App) -> list[SessionRecord]:
    """List the sessions that are not finished, of every benchmark, in the order of opening."""
    with app.open_history(read_only=True) as history:
        found = [
            record
            for name in benchmark_names(history)
            for record in list_sessions(history, name, unfinished=True)
        ]
    return sorted(found, key=lambda record: (record.opened_at, record.session_id))


def find_open(history: History, reference: str) -> SessionRecord:
    """Find a session that can still be told.

    Raises
    ------
    InputError
        If it is unknown or finished.
    """
    record = find_session(history, reference)
    if record.finished_at is not None:
        raise InputError(
            f"session {record.session_id} was finished on {record.finished_at:%Y-%m-%d %H:%M} UTC; "
            "see it with `recurring-eval adaptive show`, or start another one"
        )
    return record


def open_session(app: App, reference: str) -> AdaptiveSession:
    """Load a session that can still be told, with InputError as `find_open`."""
    with app.open_history(read_only=True) as history:
        return load_session(app, history, find_open(history, reference))


def start_session(
    app: App,
    *,
    k: int,
    method: str = DEFAULT_STEPS.name,
    benchmark: str | None = None,
    family: str | None = None,
    agent: str | None = None,
    seed: int | None = None,
) -> AdaptiveSession:
    """Open a session under the calibration in use and choose its first question.

    Parameters
    ----------
    app : App
    k : int
        Valid verdicts wanted, from 1 to all questions.
    method : str
    benchmark, family : str, optional
        Needed where the history has several; a rule of the settings may give the family.
    agent : str, optional
        Who is evaluated.
    seed : int, optional
        Draws the order of questions that tell the same; by default from the settings' seed.

    Raises
    ------
    InputError
        If the method, k or seed cannot be had.
    NotEnoughDataError
        If nothing is calibrated yet, or not for this method.
    """
    asking = asking_method(method)
    if seed is not None and not 0 <= seed < _MOST_SEEDS:
        raise InputError(f"`seed` is {seed}; choose a number from 0 to {_MOST_SEEDS - 1}")
    agent = _label(agent) if agent else UNKNOWN_AGENT
    with app.open_history(read_only=True) as history:
        target = _target(app, history, benchmark, family, agent)
        info = calibration_in_use(history, *target.key)
        calibration = load_calibration(history, info, asking.models)
    view = app.view(target.benchmark)
    require_subset_size(k, calibration.fitted.n_questions)
    asking.require_models(calibration.fitted)
    now = app.clock.now()
    if seed is None:
        stream = generator(app.settings.seed, "adaptive", *target.key, agent, now.isoformat())
        seed = int(stream.integers(_SEEDS))
    with app.writing() as history:
        session_id = save_session(
            history,
            benchmark=target.benchmark,
            bank_version=info.bank_version,
            family=target.family,
            agent=agent,
            method=asking.name,
            k=k,
            seed=seed,
            calibration_id=info.calibration_id,
            opened_at=now,
        )
        record = find_session(history, session_id)
    return rebuild(record, calibration, view).asked_next(1)


def ask_session(app: App, reference: str, n: int = 1) -> AdaptiveSession:
    """Choose the next questions to run; asking again gives the same ones until more is told.

    Parameters
    ----------
    app : App
    reference : str
        Session id, unique prefix or ``last``.
    n : int
        Questions to choose together; no more are given than are left of k.

    Raises
    ------
    InputError
        If `n` is below 1, or the session is unknown or finished.
    """
    if n < 1:
        raise InputError(f"`n` is {n}; ask for at least one question")
    return open_session(app, reference).asked_next(n)


def tell_session(app: App, session_id: str, answers: Sequence[Answer]) -> AdaptiveSession:
    """Store verdicts, all or none, then estimate and choose the next question.

    What was told before is left alone.

    Parameters
    ----------
    app : App
    session_id : str
    answers : sequence of Answer

    Raises
    ------
    InputError
        If the session is unknown or finished, a question is unknown, or a verdict
        contradicts one told before.
    """
    before = open_session(app, session_id)
    known = before.calibration.fitted.question_ids
    now = app.clock.now()
    with app.writing() as history:
        # Compared and stored in one transaction: somebody else may be telling as well.
        record = find_open(history, before.record.session_id)
        new = new_answers(answers, record.steps, known, f"session {record.session_id}")
        add_steps(history, record.session_id, [answer.as_step(now) for answer in new])
        record = find_session(history, record.session_id)
    session = rebuild(record, before.calibration, before.view)
    return replace(session.asked_next(1), new=tuple(new))


def look_at_session(app: App, reference: str) -> AdaptiveSession:
    """Load a session, open or finished.

    Raises
    ------
    InputError
        If it is unknown.
    """
    with app.open_history(read_only=True) as history:
        record = find_session(history, reference)
        session = load_session(app, history, record)
        runs = [] if record.run_id is None else list_runs(history, record.benchmark)
        run_key = next((run.run_key for run in runs if run.run_id == record.run_id), None)
    return replace(session.asked_next(1), run_key=run_key)


def _target(
    app: App, history: History, benchmark: str | None, family: str | None, agent: str
) -> Target:
    name = one_benchmark(history, benchmark)
    _, ruled = app.settings.rule_for(benchmark=name, agent=agent, tags=())
    return one_target(history, benchmark=name, family=family or ruled)


def _label(agent: str) -> str:
    if len(agent) > LONGEST_AGENT or not agent.isprintable():
        raise InputError(
            f"the agent's name must be one line of at most {LONGEST_AGENT} printable characters"
        )
    return agent
