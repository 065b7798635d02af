"""Store one log of an import in a transaction, or nothing of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressed, Addressing, listed
from jobs.importing.report import (
    KNOWN,
    PARTIAL,
    FileReport,
    merged_notes,
    refused_report,
    selection_notes,
    with_failed_others,
)
from jobs.importing.rules import remember_rule, remember_tasks, stored_rule
from jobs.importing.sources import Source
from recurring_eval.errors import InputError
from recurring_eval.records import Bank, RunLog
from storage.file.history import History
from storage.runs.benchmarks import benchmark_names, create_benchmark, current_bank, save_bank
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
    replace, extend_bank, dry_run : bool
        See `ImportOptions`.
    """

    now: datetime
    given: ReadOptions
    read: ReadOptions
    addressing: Addressing
    fingerprint: Callable[[str], str]
    questions: Mapping[str, frozenset[str]]
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
    if item.refusal is not None or source.known is not None:
        return unread_report(item), []
    written: list[RunWritten] = []
    notes: list[str] = []
    n_verdicts = 0
    try:
        with history.transaction():
            banks = {
                benchmark: _prepare_bank(
                    history,
                    benchmark,
                    file_questions=ids,
                    import_questions=options.questions[benchmark],
                    extend=options.extend_bank,
                    now=options.now,
                )
                for benchmark, ids in item.questions.items()
            }
            for benchmark in banks:
                notes += _remember_rules(history, item, benchmark, options)
            for logs, told in _parts(item, options):
                notes += told
                n_verdicts += sum(len(log.outcome) for log in logs)
                for benchmark, bank in banks.items():
                    own = [log for log in logs if log.benchmark == benchmark]
                    more, runs = _store_benchmark(history, item, own, bank, options)
                    notes += more
                    written += runs
            for benchmark, home in item.homes.items():
                tasks = item.tasks[benchmark]
                place = (benchmark, source.harness)
                remember_tasks(history, *place, tasks, home=home, now=options.now)
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
    is_partial = source.log.partial is not None and status in ("imported", "extended")
    report = FileReport(
        path=str(source.path),
        status=PARTIAL if is_partial else status,
        runs=len(written),
        verdicts=n_verdicts,
        reason=source.log.partial,
        notes=merged_notes(notes),
    )
    return report, written


def _prepare_bank(
    history: History,
    benchmark: str,
    *,
    file_questions: frozenset[str],
    import_questions: frozenset[str],
    extend: bool,
    now: datetime,
) -> Bank:
    """Bank that knows every question of a file, inside the caller's transaction.

    The first bank of a benchmark, and with `extend` a new version of it, takes
    the questions of all files of the import.

    Raises
    ------
    InputError
        If the bank lacks questions and may not be extended, listing them.
    """
    if benchmark not in benchmark_names(history):
        create_benchmark(history, benchmark, now=now)
    bank = current_bank(history, benchmark)
    hashes: dict[str, str] = {}
    if bank is not None:
        hashes = dict(zip(bank.question_ids, bank.content_hashes, strict=True))
        unknown = file_questions - hashes.keys()
        if not unknown:
            return bank
        if not extend:
            raise InputError(_unknown(benchmark, unknown, is_all=unknown == file_questions))
    hashes = dict.fromkeys(import_questions, "") | hashes
    ids = tuple(sorted(hashes))
    bank = Bank(
        benchmark=benchmark, question_ids=ids, content_hashes=tuple(hashes[key] for key in ids)
    )
    save_bank(history, bank, now=now)
    return bank


def _unknown(benchmark: str, unknown: frozenset[str], *, is_all: bool) -> str:
    shown = listed(sorted(unknown))
    if is_all:
        return (
            f"none of the file's {len(unknown)} questions is in benchmark {benchmark!r}: {shown}; "
            "does it belong to another benchmark (--benchmark NAME, a new one with --create)? "
            "If not, --extend-bank adds them"
        )
    return (
        f"benchmark {benchmark!r} lacks {len(unknown)} of the file's questions: {shown}; "
        "--extend-bank adds them"
    )


def unread_report(item: Addressed) -> FileReport:
    """Report a log that was refused, skipped, or known to be stored already."""
    source, known = item.source, item.source.known
    if known is not None:
        return FileReport(
            path=str(source.path), status=KNOWN, runs=known.n_runs, verdicts=known.n_verdicts
        )
    return refused_report(source.path, str(item.refusal), skipped=source.is_skipped)


def _parts(
    item: Addressed, options: StoreOptions
) -> Iterator[tuple[Sequence[RunLog], Sequence[str]]]:
    """Yield the runs of a log and notes on them: all, or some at a time if it is large."""
    source = item.source
    if source.large is None:
        yield item.logs, source.log.notes
        return
    for part in source.large.read_parts(options.read, harness=source.harness):
        logs = options.addressing.address(part.runs)
        strays = [log.run_key for log in logs if log.benchmark not in item.questions]
        if strays:
            raise InputError(f"run {strays[0]} names no benchmark; give it with --benchmark")
        yield logs, part.notes


def _remember_rules(
    history: History, item: Addressed, benchmark: str, options: StoreOptions
) -> list[str]:
    """Remember what was answered for the tasks of a benchmark."""
    notes = []
    for task in item.tasks.get(benchmark, (None,)):
        place = (benchmark, item.source.harness, task)
        rule = options.given.given_for(task)
        rule = rule.over(stored_rule(history, *place)).over(item.source.log.decided)
        notes += remember_rule(history, *place, rule, now=options.now)
    return notes


def _store_benchmark(
    history: History, item: Addressed, logs: list[RunLog], bank: Bank, options: StoreOptions
) -> tuple[list[str], list[RunWritten]]:
    """Store what a log, or a part of it, holds of one benchmark."""
    if not logs:
        return [], []
    source, benchmark = item.source, bank.benchmark
    if source.log.others_failed:
        logs = [with_failed_others(log, bank) for log in logs]
    notes = [note for log in logs for note in selection_notes(history, log, bank)]
    locators = item.locators.get(benchmark, {})
    if locators:
        logged_at = max(log.started_at for log in logs)
        save_locators(history, benchmark, source.harness, locators, logged_at=logged_at)
    plain = [log for log in logs if log.run_key not in source.log.lineages]
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
        if log.run_key in source.log.lineages:
            more, run = _store_retry(history, source, benchmark, log, options)
            notes += more
            written.append(run)
    return notes, written


def _store_retry(
    history: History, source: Source, benchmark: str, log: RunLog, options: StoreOptions
) -> tuple[list[str], RunWritten]:
    """Store a log that may go on with a stored run."""
    lineage = source.log.lineages[log.run_key]
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
    """Replace the start of a log by the stored one where it is another part of the same run.

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
