"""Verdicts that an adaptive session is told, from the log of an evaluation tool."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from jobs.adaptive_answers import Answer
from jobs.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.import_rules import with_stored_rules
from jobs.import_sources import Source, read_sources
from jobs.import_targets import Addressing
from jobs.import_tasks import Addressed, Place, home_tasks, with_task_keys
from jobs.nightly_history import failing_reasons
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, PASS, RunLog
from storage.adaptive_sessions import SessionRecord
from storage.benchmarks import bank_by_version
from storage.verdict_rules import stored_answers


def answers_of_log(app: App, path: Path, record: SessionRecord) -> list[Answer]:
    """Read the one run of a log as answers, as an import into the benchmark would read it.

    Parameters
    ----------
    app : App
    path : Path
        A file, or a folder that is one log.
    record : SessionRecord

    Raises
    ------
    InputError
        If the log is refused, holds several runs, is of another session, or has a
        question of another content than the session's bank.
    """
    benchmark = record.benchmark
    with app.open_history(read_only=True) as history:
        options = with_stored_rules(
            history, ReadOptions(without_verdicts=True), benchmark=benchmark, only=benchmark
        )
        remembered = stored_answers(history)
        bank = bank_by_version(history, benchmark, record.bank_version)
    addressing = Addressing(
        known=(benchmark,),
        settings=app.settings,
        benchmark=benchmark,
        purpose=None,
        subset_id=None,
        create=False,
        task_benchmarks=options.task_benchmarks,
    )
    try:
        source = _only_log(path, options)
        _require_benchmark(source, benchmark)
        log = _only_run(_addressed(source, addressing, benchmark, remembered), record)
        _require_contents(log, dict(zip(bank.question_ids, bank.content_hashes, strict=True)))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return answers_of_run(log, failing_reasons(app.settings.for_benchmark(benchmark)))


def answers_of_run(log: RunLog, failing: Sequence[str]) -> list[Answer]:
    """Count the verdicts of a run by question, in the order of the log.

    Of several trials those without a verdict are left out, or are fails where their
    reason is among `failing`.
    """
    kinds = [reason.partition(":")[0] for reason in log.reasons]
    answers = []
    for position, question in enumerate(log.question_ids):
        rows = np.flatnonzero(log.question_index == position)
        valid = rows[log.outcome[rows] != MISSING]
        reasons = [int(index) for index in log.reason_index[rows] if index >= 0]
        as_fail = [index for index in reasons if kinds[index] in failing]
        if valid.size:
            passes = int((log.outcome[valid] == PASS).sum())
            trials = len(valid) + len(as_fail)
            answers.append(Answer(question=question, passes=passes, trials=trials))
        elif reasons:
            reason = log.reasons[(as_fail or reasons)[0]]
            answers.append(Answer(question=question, passes=0, trials=0, reason=reason))
    return answers


def _only_log(path: Path, options: ReadOptions) -> Source:
    found = [s for s in read_sources([path], harness="auto", options=options) if not s.is_skipped]
    if len(found) != 1:
        raise InputError(f"holds {len(found)} logs; give the log of one run")
    if found[0].refusal is not None:
        raise InputError(found[0].refusal)
    if found[0].others_failed:
        raise InputError("names only questions that passed; tell the failed ones as well")
    if found[0].large is not None:
        raise InputError("is too large for the log of one run; give that run's verdicts alone")
    return found[0]


def _require_benchmark(source: Source, benchmark: str) -> None:
    """Refuse runs that say they are of another benchmark; a tool's task name is none."""
    named = {log.benchmark for log in source.logs if log.benchmark is not None}
    if not source.has_tasks and named - {benchmark}:
        other = min(named - {benchmark})
        raise InputError(f"is of benchmark {other!r}, but the session of {benchmark!r}")


def _addressed(
    source: Source,
    addressing: Addressing,
    benchmark: str,
    remembered: Mapping[Place, Mapping[str, str]],
) -> Sequence[RunLog]:
    """Give the runs of a log the benchmark's keys of questions."""
    logs = addressing.address(source.logs, has_tasks=source.has_tasks)
    item = Addressed(
        source=replace(source, logs=logs),
        tasks=tuple(log.benchmark for log in source.logs),
        benchmarks=(benchmark,) * len(logs),
    )
    keyed = with_task_keys(item, home_tasks([item], remembered))
    if keyed.refusal is not None:
        raise InputError(keyed.refusal)
    return keyed.logs


def _only_run(logs: Sequence[RunLog], record: SessionRecord) -> RunLog:
    own = [log for log in logs if log.session_id == record.session_id] or list(logs)
    if len(own) != 1:
        keys = ", ".join(log.run_key for log in own[:5])
        raise InputError(f"holds {len(own)} runs ({keys}); a session is one run, give one of them")
    (log,) = own
    if log.session_id not in (None, record.session_id):
        raise InputError(f"belongs to session {log.session_id}, not to {record.session_id}")
    return log


def _require_contents(log: RunLog, contents: Mapping[str, str]) -> None:
    changed = [
        question
        for question, content in zip(log.question_ids, log.content_hashes, strict=True)
        if content and contents.get(question) and contents[question] != content
    ]
    if changed:
        raise InputError(
            f"has {len(changed)} questions whose content changed since the session began, first "
            f"{changed[0]!r}; start another session after the next calibration"
        )
