"""Close an adaptive session: its verdicts become a run, with the estimate beside it."""

from dataclasses import replace
from typing import Final

from jobs.app.app import App
from jobs.estimating.run_estimates import RunEstimate, keep_estimate
from jobs.harnesses.run_builder import LoggedVerdict, build_run
from jobs.sessions.session import AdaptiveSession, find_open, open_session
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog, RunPurpose
from storage.file.history import History
from storage.runs.benchmarks import bank_by_version
from storage.runs.runs import find_run
from storage.runs.write_runs import write_runs
from storage.sessions import SessionRecord, find_session, finish_session

HARNESS: Final = "recurring-eval"


def finish_run(
    app: App,
    reference: str,
    *,
    give_up: bool = False,
    early: bool = False,
    purpose: RunPurpose | None = None,
) -> AdaptiveSession:
    """Close a session: store its run and estimate together, or nothing of it when given up.

    Parameters
    ----------
    app : App
    reference : str
        Session id, unique prefix or ``last``.
    give_up : bool
        Close it without a run.
    early : bool
        Before k valid verdicts.
    purpose : RunPurpose, optional
        Of the run; by default what the rules of the settings say, else routine.

    Raises
    ------
    InputError
        If the session is unknown or finished, lacks verdicts, or was told more meanwhile.
    """
    session = open_session(app, reference)
    if not give_up:
        _require_complete(session, early=early)
    estimate = session.estimated().estimate
    with app.writing() as history:
        record = find_open(history, session.record.session_id)
        if record.steps != session.record.steps:
            raise InputError(
                f"session {record.session_id} received more verdicts while it was being "
                "finished; nothing was stored, finish it again"
            )
        run_id = None
        if not give_up and estimate is not None:
            run_id, estimate = _store_run(app, history, record, estimate, purpose)
        now = app.clock.now()
        finish_session(history, record.session_id, run_id=run_id, finished_at=now)
        record = find_session(history, record.session_id)
    run_key = None if run_id is None or estimate is None else estimate.run_key
    return replace(session, record=record, estimate=estimate, run_key=run_key)


def session_log(record: SessionRecord, *, run_key: str, purpose: RunPurpose) -> RunLog:
    """Write what a session was told as the log of one run.

    Raises
    ------
    InputError
        If nothing that was told has a valid verdict.
    """
    verdicts: list[LoggedVerdict] = []
    for step in record.steps:
        if not step.trials:
            verdicts.append(
                LoggedVerdict(
                    question=step.question_id, outcome=MISSING, reason=str(step.reason), trial=1
                )
            )
        verdicts += [
            LoggedVerdict(
                question=step.question_id,
                outcome=PASS if trial <= step.passes else FAIL,
                trial=trial,
            )
            for trial in range(1, step.trials + 1)
        ]
    log = build_run(
        verdicts,
        run_key=run_key,
        task=record.benchmark,
        agent=record.agent,
        harness=HARNESS,
        started_at=record.opened_at,
        finished_at=record.steps[-1].told_at if record.steps else None,
    )
    return replace(
        log, agent_family=record.agent_family, purpose=purpose, session_id=record.session_id
    )


def _require_complete(session: AdaptiveSession, *, early: bool) -> None:
    name = f"session {session.record.session_id}"
    if not session.asking.n_valid:
        raise InputError(
            f"{name} has no valid verdict to estimate from; add some with `adaptive tell`, or "
            "close it without a run with --give-up"
        )
    if not any(step.trials for step in session.record.steps):
        raise InputError(
            f"{name} has missing verdicts only, which count as fails here but make no run; "
            "add a pass or a fail with `adaptive tell`, or close it without a run with --give-up"
        )
    if not session.asking.finished and not early:
        raise InputError(
            f"{name} has {session.asking.n_valid} of {session.record.k} valid verdicts, "
            f"{session.n_left} are left; add them with `adaptive tell`, or finish with --early "
            "(or --give-up, without a run)"
        )


def _store_run(
    app: App,
    history: History,
    record: SessionRecord,
    estimate: RunEstimate,
    purpose: RunPurpose | None,
) -> tuple[int, RunEstimate]:
    """Store run and estimate inside the caller's transaction; id and estimate as stored."""
    run_key = history.free_name("run", "run_key", record.session_id)
    ruled, _ = app.settings.rule_for(benchmark=record.benchmark, agent=record.agent, tags=())
    log = session_log(record, run_key=run_key, purpose=purpose or ruled or RunPurpose.ROUTINE)
    bank = bank_by_version(history, record.benchmark, record.bank_version)
    contents = dict(zip(bank.question_ids, bank.content_hashes, strict=True))
    # A question whose content changed since is another one; the session asked the old one.
    hashes = tuple(contents[question] for question in log.question_ids)
    log = replace(log, content_hashes=hashes)
    write_runs(history, record.benchmark, [log], imported_at=app.clock.now())
    run = find_run(history, run_key, benchmark=record.benchmark)
    stored = replace(estimate, run_key=run_key)
    keep_estimate(app, history, run, stored)
    return run.run_id, stored
