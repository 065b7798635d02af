"""Store one log of an import in a transaction, or nothing of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from jobs.harnesses.harness import ReadOptions
from jobs.import_notes import selection_notes, with_failed_others
from jobs.import_report import PARTIAL, FileReport, refused_report
from jobs.import_rules import remember_rule, stored_rule
from jobs.import_sources import Source
from jobs.import_targets import prepare_bank, questions_by_benchmark
from jobs.import_tasks import Addressed, Place, remember_tasks
from recurring_eval.errors import InputError
from recurring_eval.records import Bank, RunLog
from storage.history import History
from storage.lineages import continue_run, lineage_run, save_lineage
from storage.locators import save_locators
from storage.runs import RunWritten, list_runs, write_runs

_STATUSES: Final = ("imported", "replaced", "extended", "already there")
_SAME_RUN: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """How logs are stored.

    Attributes
    ----------
    now : datetime
    read : ReadOptions
        How the logs were read; what was given on the command line is remembered.
    questions : mapping of str to frozenset of str
        Questions of the whole import by benchmark.
    homes : mapping of (str, str) to str
        See `home_tasks`.
    replace, extend_bank, dry_run : bool
        See `ImportOptions`.
    """

    now: datetime
    read: ReadOptions
    questions: Mapping[str, frozenset[str]]
    homes: Mapping[Place, str]
    replace: bool
    extend_bank: bool
    dry_run: bool


class _DryRunOver(Exception):  # noqa: N818  # not an error: it rolls the transaction back
    pass


def store_source(
    history: History, item: Addressed, options: StoreOptions
) -> tuple[FileReport, list[RunWritten]]:
    """Store one log in a transaction; report why it was refused where it was."""
    source = item.source
    if source.refusal is not None:
        return refused_report(source.path, source.refusal, skipped=source.is_skipped), []
    written: list[RunWritten] = []
    notes = list(source.notes)
    try:
        with history.transaction():
            for benchmark, ids in questions_by_benchmark(source.logs).items():
                bank = prepare_bank(
                    history,
                    benchmark,
                    file_questions=ids,
                    import_questions=options.questions[benchmark],
                    extend=options.extend_bank,
                    now=options.now,
                )
                more, runs = _store_benchmark(history, item, benchmark, bank, options)
                notes += more
                written += runs
            remember_tasks(history, item, options.homes, now=options.now)
            if options.dry_run:
                raise _DryRunOver
    except _DryRunOver:
        pass
    except InputError as error:
        return refused_report(source.path, str(error)), []
    statuses = {run.status for run in written}
    status = next(status for status in _STATUSES if status in statuses)
    is_partial = source.partial is not None and status in ("imported", "extended")
    report = FileReport(
        path=str(source.path),
        status=PARTIAL if is_partial else status,
        runs=len(source.logs),
        verdicts=sum(len(log.outcome) for log in source.logs),
        reason=source.partial,
        notes=tuple(notes),
    )
    return report, written


def _store_benchmark(
    history: History, item: Addressed, benchmark: str, bank: Bank, options: StoreOptions
) -> tuple[list[str], list[RunWritten]]:
    """Store what a log holds of one benchmark."""
    source = item.source
    logs = [log for log in source.logs if log.benchmark == benchmark]
    if source.others_failed:
        logs = [with_failed_others(log, bank) for log in logs]
    notes = [note for log in logs for note in selection_notes(history, log, bank)]
    for task in item.tasks_in(benchmark):
        place = (benchmark, source.harness, task)
        rule = options.read.given_for(task)
        rule = rule.over(stored_rule(history, *place)).over(source.decided)
        notes += remember_rule(history, *place, rule, now=options.now)
    locators = source.locators.get(benchmark, {})
    if locators:
        logged_at = max(log.started_at for log in logs)
        save_locators(history, benchmark, source.harness, locators, logged_at=logged_at)
    plain = [log for log in logs if log.run_key not in source.lineages]
    written = []
    if plain:
        written += write_runs(
            history,
            benchmark,
            plain if options.replace else _with_stored_starts(history, benchmark, plain),
            imported_at=options.now,
            replace=options.replace,
            file_hash=source.file_hash,
        )
    for log in logs:
        if log.run_key in source.lineages:
            more, run = _store_retry(history, source, benchmark, log, options)
            notes += more
            written.append(run)
    return notes, written


def _store_retry(
    history: History, source: Source, benchmark: str, log: RunLog, options: StoreOptions
) -> tuple[list[str], RunWritten]:
    """Store a log that may go on with a stored run."""
    lineage = source.lineages[log.run_key]
    first = lineage_run(history, benchmark, lineage)
    notes = []
    if first is None:
        save_lineage(history, benchmark, lineage, log.run_key)
    elif first != log.run_key:
        notes.append(f"run {log.run_key} is a retry of run {first}, which it extends")
    may_replace = options.replace
    if first is not None and not (options.replace and first == log.run_key):
        log = continue_run(history, benchmark, log, first, replace=options.replace)
        may_replace = True
    if not log.outcome.size:
        return notes, RunWritten(run_key=log.run_key, status="already there", n_new_verdicts=0)
    (written,) = write_runs(
        history,
        benchmark,
        [log],
        imported_at=options.now,
        replace=may_replace,
        file_hash=source.file_hash,
    )
    if written.status == "replaced" and not options.replace:
        n_filled = written.n_new_verdicts + written.n_replaced_verdicts
        written = replace(written, status="extended", n_new_verdicts=n_filled)
    return notes, written


def _with_stored_starts(history: History, benchmark: str, logs: list[RunLog]) -> list[RunLog]:
    """Give a log the start the history knows, where it is another part of the same run.

    A run's start is its earliest verdict, which only one of its parts holds.
    """
    near = list_runs(
        history,
        benchmark,
        since=min(log.started_at for log in logs) - _SAME_RUN,
        before=max(log.started_at for log in logs) + _SAME_RUN,
    )
    starts = {run.run_key: run.started_at for run in near}
    return [
        replace(log, started_at=starts[log.run_key])
        if log.run_key in starts and abs(log.started_at - starts[log.run_key]) < _SAME_RUN
        else log
        for log in logs
    ]
