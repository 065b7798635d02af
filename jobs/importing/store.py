"""Store one log of an import in a transaction, or nothing of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressing, prepare_bank
from jobs.importing.report import (
    KNOWN,
    PARTIAL,
    FileReport,
    merged_notes,
    refused_report,
    selection_notes,
    with_failed_others,
)
from jobs.importing.rules import Addressed, Place, remember_rule, remember_tasks, stored_rule
from jobs.importing.sources import Source
from recurring_eval.errors import InputError
from recurring_eval.records import Bank, RunLog
from storage.file.history import History
from storage.runs.imports import (
    ImportedFile,
    continue_run,
    lineage_run,
    remember_file,
    save_lineage,
    save_locators,
)
from storage.runs.runs import list_runs
from storage.runs.write_runs import RunWritten, write_runs

_STATUSES: Final = ("imported", "replaced", "extended", "already there")
_SAME_RUN: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """How logs are stored.

    Attributes
    ----------
    now : datetime
    given : ReadOptions
        What was given on the command line, to be remembered.
    read : ReadOptions
        How logs are read, with what the history remembers.
    addressing : Addressing
        For logs that are read in parts.
    fingerprint : callable
        Hash of a file's bytes -> hash of them and of all that decides what is read.
    questions : mapping of str to frozenset of str
        Questions of the whole import by benchmark.
    homes : mapping of (str, str) to str
        See `home_tasks`.
    replace, extend_bank, dry_run : bool
        See `ImportOptions`.
    """

    now: datetime
    given: ReadOptions
    read: ReadOptions
    addressing: Addressing
    fingerprint: Callable[[str], str]
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
    if source.refusal is not None or source.known is not None:
        return unread_report(source), []
    written: list[RunWritten] = []
    notes: list[str] = []
    n_verdicts = 0
    try:
        with history.transaction():
            banks = {
                benchmark: prepare_bank(
                    history,
                    benchmark,
                    file_questions=ids,
                    import_questions=options.questions[benchmark],
                    extend=options.extend_bank,
                    now=options.now,
                )
                for benchmark, ids in source.questions.items()
            }
            for benchmark in banks:
                notes += _remember_rules(history, item, benchmark, options)
            for part in _parts(source, options):
                notes += part.notes
                n_verdicts += sum(len(log.outcome) for log in part.logs)
                for benchmark, bank in banks.items():
                    more, runs = _store_benchmark(history, part, benchmark, bank, options)
                    notes += more
                    written += runs
            remember_tasks(history, item, options.homes, now=options.now)
            if source.large is not None:
                file = ImportedFile(
                    fingerprint=options.fingerprint(source.file_hash),
                    file_hash=source.file_hash,
                    n_runs=len(written),
                    n_verdicts=n_verdicts,
                )
                remember_file(history, file, now=options.now)
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
        runs=len(written),
        verdicts=n_verdicts,
        reason=source.partial,
        notes=merged_notes(notes),
    )
    return report, written


def unread_report(source: Source) -> FileReport:
    """Report a log that was refused, skipped, or known to be stored already."""
    if source.known is not None:
        path, known = str(source.path), source.known
        return FileReport(path=path, status=KNOWN, runs=known.n_runs, verdicts=known.n_verdicts)
    return refused_report(source.path, str(source.refusal), skipped=source.is_skipped)


def _parts(source: Source, options: StoreOptions) -> Iterator[Source]:
    """Give the logs of a source: all, or some at a time if it is large."""
    if source.large is None:
        yield source
        return
    for part in source.large.read_parts(options.read, harness=source.harness):
        logs = options.addressing.address(part.runs)
        strays = [log.run_key for log in logs if log.benchmark not in source.questions]
        if strays:
            raise InputError(f"run {strays[0]} names no benchmark; give it with --benchmark")
        yield replace(source, logs=logs, notes=part.notes)


def _remember_rules(
    history: History, item: Addressed, benchmark: str, options: StoreOptions
) -> list[str]:
    """Remember what was answered for the tasks of a benchmark."""
    notes = []
    for task in item.tasks_in(benchmark) or [None]:
        place = (benchmark, item.source.harness, task)
        rule = options.given.given_for(task)
        rule = rule.over(stored_rule(history, *place)).over(item.source.decided)
        notes += remember_rule(history, *place, rule, now=options.now)
    return notes


def _store_benchmark(
    history: History, source: Source, benchmark: str, bank: Bank, options: StoreOptions
) -> tuple[list[str], list[RunWritten]]:
    """Store what a log, or a part of it, holds of one benchmark."""
    logs = [log for log in source.logs if log.benchmark == benchmark]
    if not logs:
        return [], []
    if source.others_failed:
        logs = [with_failed_others(log, bank) for log in logs]
    notes = [note for log in logs for note in selection_notes(history, log, bank)]
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
