"""Import runs: each file stored whole, or refused whole with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import numpy as np

from jobs.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.import_report import REFUSED, SKIPPED, FileReport, ImportReport
from jobs.import_sources import Source, read_sources
from jobs.import_targets import Addressing, prepare_bank, questions_by_benchmark
from recurring_eval.errors import InputError
from recurring_eval.records import FULL_RUN_MIN_VALID, MISSING, Bank, RunKind, RunLog, RunPurpose
from storage.benchmarks import benchmark_names
from storage.history import History
from storage.runs import RunWritten, list_runs, write_runs
from storage.subsets import find_subset, subset_benchmarks

_STATUSES: Final = ("imported", "replaced", "extended", "already there")
_SAME_RUN: Final = timedelta(hours=12)
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the command line says about an import.

    Attributes
    ----------
    read : ReadOptions
    harness : str
    benchmark, subset_id : str or None
    purpose : RunPurpose or None
        These win over what the files say.
    replace : bool
        Let a changed verdict of a stored run take the place of the old one.
    extend_bank : bool
        Let unknown questions make a new version of the bank.
    create : bool
        Let an unknown name make a new benchmark.
    dry_run : bool
        Check everything, store nothing.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    harness: str = "auto"
    benchmark: str | None = None
    purpose: RunPurpose | None = None
    subset_id: str | None = None
    replace: bool = False
    extend_bank: bool = False
    create: bool = False
    dry_run: bool = False


class _DryRunOver(Exception):  # noqa: N818  # not an error: it rolls the transaction back
    pass


def import_runs(app: App, paths: Sequence[Path], options: ImportOptions) -> ImportReport:
    """Import files and folders, each file in its own transaction.

    A refused file leaves no trace; the others are imported all the same.

    Parameters
    ----------
    app : App
    paths : sequence of Path
    options : ImportOptions

    Raises
    ------
    HistoryError
        If the history cannot be opened or written; files imported before stay.
    """
    with app.open_history(read_only=True) as history:
        known = tuple(benchmark_names(history))
        handed_out = subset_benchmarks(history)
    addressing = Addressing(
        known=known,
        settings=app.settings,
        benchmark=options.benchmark,
        purpose=options.purpose,
        subset_id=options.subset_id,
        create=options.create,
        subset_benchmarks=handed_out,
    )
    found = read_sources(paths, harness=options.harness, options=options.read)
    sources = [_addressed(source, addressing) for source in found]
    if all(source.refusal is not None for source in sources):
        return _report([(_not_imported(source), []) for source in sources], options)
    questions = questions_by_benchmark(log for source in sources for log in source.logs)
    with app.open_history() as history:
        results = [_store(app, history, source, questions, options) for source in sources]
        history.checkpoint()
    return _report(results, options)


def _addressed(source: Source, addressing: Addressing) -> Source:
    try:
        return replace(source, logs=addressing.address(source.logs))
    except InputError as error:
        return replace(source, logs=(), refusal=str(error))


def _store(
    app: App,
    history: History,
    source: Source,
    questions: dict[str, frozenset[str]],
    options: ImportOptions,
) -> tuple[FileReport, list[RunWritten]]:
    """Store one file in a transaction; report why it was refused where it was."""
    if source.refusal is not None:
        return _not_imported(source), []
    now = app.clock.now()
    written: list[RunWritten] = []
    notes = list(source.notes)
    try:
        with history.transaction():
            for benchmark, ids in questions_by_benchmark(source.logs).items():
                bank = prepare_bank(
                    history,
                    benchmark,
                    file_questions=ids,
                    import_questions=questions[benchmark],
                    extend=options.extend_bank,
                    now=now,
                )
                logs = [log for log in source.logs if log.benchmark == benchmark]
                notes += [note for log in logs for note in _selection_notes(history, log, bank)]
                written += write_runs(
                    history,
                    benchmark,
                    logs if options.replace else _with_stored_starts(history, benchmark, logs),
                    imported_at=now,
                    replace=options.replace,
                    file_hash=source.file_hash,
                )
            if options.dry_run:
                raise _DryRunOver
    except _DryRunOver:
        pass
    except InputError as error:
        return _not_imported(replace(source, refusal=str(error))), []
    statuses = {run.status for run in written}
    report = FileReport(
        path=str(source.path),
        status=next(status for status in _STATUSES if status in statuses),
        runs=len(source.logs),
        verdicts=sum(len(log.outcome) for log in source.logs),
        notes=tuple(notes),
    )
    return report, written


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


def _selection_notes(history: History, log: RunLog, bank: Bank) -> list[str]:
    """Compare what came back with what was asked.

    Raises
    ------
    InputError
        If the run's subset is unknown or belongs to another benchmark.
    """
    if log.subset_id is None:
        n_valid = len(np.unique(log.question_index[log.outcome != MISSING]))
        if log.kind is not RunKind.FULL or n_valid >= FULL_RUN_MIN_VALID * len(bank.question_ids):
            return []
        return [
            f"run {log.run_key!r} has valid verdicts on {n_valid} of {len(bank.question_ids)} "
            "questions, too few for a full run; if a subset was asked, name it with --subset"
        ]
    found = find_subset(history, log.subset_id)
    if found.benchmark != log.benchmark:
        raise InputError(
            f"subset {log.subset_id!r} belongs to benchmark {found.benchmark!r}, "
            f"but run {log.run_key!r} to {log.benchmark!r}"
        )
    asked, answered = set(found.subset.question_ids), set(log.question_ids)
    notes = []
    for ids, what in ((answered - asked, "outside"), (asked - answered, "not returned of")):
        if ids:
            notes.append(
                f"run {log.run_key!r}: {len(ids)} questions {what} subset {log.subset_id}: "
                + ", ".join(sorted(ids)[:_SHOWN])
                + (", ..." if len(ids) > _SHOWN else "")
            )
    return notes


def _not_imported(source: Source) -> FileReport:
    status = SKIPPED if source.is_skipped else REFUSED
    return FileReport(path=str(source.path), status=status, reason=source.refusal)


def _report(
    results: list[tuple[FileReport, list[RunWritten]]], options: ImportOptions
) -> ImportReport:
    written = [run for _, runs in results for run in runs]
    return ImportReport(
        files=tuple(report for report, _ in results),
        runs_added=sum(run.status == "imported" for run in written),
        verdicts_added=sum(run.n_new_verdicts for run in written),
        dry_run=options.dry_run,
    )
