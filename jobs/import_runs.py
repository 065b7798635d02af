"""Import runs: each file stored whole, or refused whole with the reason."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from jobs.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.import_notes import selection_notes
from jobs.import_report import KNOWN, REFUSED, SKIPPED, FileReport, ImportReport
from jobs.import_sources import Source, all_questions, read_sources
from jobs.import_targets import Addressing, prepare_bank, questions_by_benchmark
from jobs.part_notes import merged_notes
from jobs.stored_starts import with_stored_starts
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog, RunPurpose
from storage.benchmarks import benchmark_names
from storage.history import History
from storage.imported_files import ImportedFile, remember_file, remembered_files
from storage.runs import RunWritten, write_runs
from storage.subsets import subset_benchmarks

_STATUSES: Final = ("imported", "replaced", "extended", "already there")


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
        files = remembered_files(history)
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
    found = read_sources(
        paths,
        harness=options.harness,
        options=options.read,
        remembered=lambda digest: files.get(_fingerprint(digest, app, options)),
    )
    sources = [_addressed(source, addressing) for source in found]
    if all(source.refusal or source.known for source in sources):
        return _report([(_not_imported(source), []) for source in sources], options)
    questions = all_questions(sources)
    with app.open_history() as history:
        results = [
            _store(app, history, source, addressing, questions, options) for source in sources
        ]
        history.checkpoint()
    return _report(results, options)


def _fingerprint(file_hash: str, app: App, options: ImportOptions) -> str:
    """Hash of a file's bytes and of all that decides what is read from them."""
    how = (file_hash, options.read, options.harness, options.benchmark, options.purpose)
    parts = (*how, options.subset_id, app.settings.rules)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _addressed(source: Source, addressing: Addressing) -> Source:
    try:
        if source.large is not None:
            questions = addressing.address_questions(source.large.questions)
            return replace(source, questions=questions)
        logs = addressing.address(source.logs)
        return replace(source, logs=logs, questions=questions_by_benchmark(logs))
    except InputError as error:
        return replace(source, logs=(), large=None, refusal=str(error))


def _parts(
    source: Source, addressing: Addressing, options: ImportOptions
) -> Iterator[tuple[tuple[RunLog, ...], tuple[str, ...]]]:
    """Addressed logs of a file with their notes: all, or some at a time if it is large."""
    if source.large is None:
        yield source.logs, source.notes
        return
    for part in source.large.read_parts(options.read, harness="table"):
        yield addressing.address(part.runs), part.notes


def _store(
    app: App,
    history: History,
    source: Source,
    addressing: Addressing,
    questions: dict[str, frozenset[str]],
    options: ImportOptions,
) -> tuple[FileReport, list[RunWritten]]:
    """Store one file in a transaction; report why it was refused where it was."""
    if source.refusal is not None or source.known is not None:
        return _not_imported(source), []
    now = app.clock.now()
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
                    import_questions=questions[benchmark],
                    extend=options.extend_bank,
                    now=now,
                )
                for benchmark, ids in source.questions.items()
            }
            for part, part_notes in _parts(source, addressing, options):
                notes += part_notes
                n_verdicts += sum(len(log.outcome) for log in part)
                strays = [log.run_key for log in part if log.benchmark not in banks]
                if strays:
                    raise InputError(
                        f"run {strays[0]} names no benchmark; give it with --benchmark"
                    )
                for benchmark, bank in banks.items():
                    logs = [log for log in part if log.benchmark == benchmark]
                    if not logs:
                        continue
                    notes += [note for log in logs for note in selection_notes(history, log, bank)]
                    written += write_runs(
                        history,
                        benchmark,
                        logs if options.replace else with_stored_starts(history, benchmark, logs),
                        imported_at=now,
                        replace=options.replace,
                        file_hash=source.file_hash,
                    )
            if source.large is not None:
                file = ImportedFile(
                    fingerprint=_fingerprint(source.file_hash, app, options),
                    file_hash=source.file_hash,
                    n_runs=len(written),
                    n_verdicts=n_verdicts,
                )
                remember_file(history, file, now=now)
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
        runs=len(written),
        verdicts=n_verdicts,
        notes=merged_notes(notes),
    )
    return report, written


def _not_imported(source: Source) -> FileReport:
    if source.known is not None:
        known = source.known
        path = str(source.path)
        return FileReport(path=path, status=KNOWN, runs=known.n_runs, verdicts=known.n_verdicts)
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
