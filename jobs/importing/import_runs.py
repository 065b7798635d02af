"""Import runs: each log stored whole, or refused whole with the reason."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jobs.app.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressing, questions_by_benchmark
from jobs.importing.report import FileReport, ImportReport, part_report
from jobs.importing.rules import Addressed, Place, home_tasks, with_stored_rules, with_task_keys
from jobs.importing.sources import Source, all_questions, read_sources
from jobs.importing.store import StoreOptions, store_source, unread_report
from recurring_eval.errors import InputError
from recurring_eval.records import RunPurpose
from storage.calibrations.subsets import subset_benchmarks
from storage.runs.benchmarks import benchmark_names
from storage.runs.imports import remembered_files, stored_answers
from storage.runs.write_runs import RunWritten


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


def import_runs(app: App, paths: Sequence[Path], options: ImportOptions) -> ImportReport:
    """Import files and folders, each log in its own transaction.

    A refused log leaves no trace; the others are imported all the same.

    Parameters
    ----------
    app : App
    paths : sequence of Path
    options : ImportOptions

    Raises
    ------
    HistoryError
        If the history cannot be opened or written; logs imported before stay.
    """
    with app.open_history(read_only=True) as history:
        known = tuple(benchmark_names(history))
        answers = stored_answers(history)
        files = remembered_files(history)
        candidates = known or tuple(app.settings.benchmark)
        read = with_stored_rules(
            history,
            options.read,
            benchmark=options.benchmark,
            only=candidates[0] if len(candidates) == 1 else None,
        )
        handed_out = subset_benchmarks(history)
    addressing = Addressing(
        known=known,
        settings=app.settings,
        benchmark=options.benchmark,
        purpose=options.purpose,
        subset_id=options.subset_id,
        create=options.create,
        subset_benchmarks=handed_out,
        task_benchmarks=read.task_benchmarks,
    )

    def fingerprint(file_hash: str) -> str:
        return _fingerprint(file_hash, app, read, options)

    found = read_sources(
        paths,
        harness=options.harness,
        options=read,
        remembered=lambda digest: files.get(fingerprint(digest)),
    )
    addressed = [_addressed(source, addressing) for source in found]
    homes = home_tasks(addressed, answers)
    items = [replace(item, source=_keyed(item, homes)) for item in addressed]
    if all(item.source.refusal or item.source.known for item in items):
        return _report([(unread_report(item.source), []) for item in items], options, items)
    store = StoreOptions(
        now=app.clock.now(),
        given=options.read,
        read=read,
        addressing=addressing,
        fingerprint=fingerprint,
        questions=all_questions(item.source for item in items),
        homes=homes,
        replace=options.replace,
        extend_bank=options.extend_bank,
        dry_run=options.dry_run,
    )
    with app.open_history() as history:
        results = [store_source(history, item, store) for item in items]
        history.checkpoint()
    return _report(results, options, items)


def _fingerprint(file_hash: str, app: App, read: ReadOptions, options: ImportOptions) -> str:
    """Hash of a file's bytes and of all that decides what is read from them."""
    how = (file_hash, read.agent, read.timezone, read.given, read.given_by_task, read.stored)
    parts = (*how, options.harness, options.benchmark, options.purpose, options.subset_id)
    return hashlib.sha256(repr((*parts, app.settings.rules)).encode()).hexdigest()


def _keyed(item: Addressed, homes: Mapping[Place, str]) -> Source:
    source = with_task_keys(item, homes)
    if source.large is not None:
        return source
    return replace(source, questions=questions_by_benchmark(source.logs))


def _addressed(source: Source, addressing: Addressing) -> Addressed:
    try:
        if source.large is not None:
            questions = addressing.address_questions(source.large.questions)
            return Addressed(source=replace(source, questions=questions))
        logs = addressing.address(source.logs, has_tasks=source.has_tasks)
    except InputError as error:
        return Addressed(source=replace(source, logs=(), large=None, refusal=str(error)))
    return Addressed(
        source=replace(source, logs=logs),
        tasks=tuple(log.benchmark for log in source.logs),
        benchmarks=tuple(str(log.benchmark) for log in logs),
    )


def _report(
    results: Sequence[tuple[FileReport, list[RunWritten]]],
    options: ImportOptions,
    items: Sequence[Addressed],
) -> ImportReport:
    written = [run for _, runs in results for run in runs]
    files: list[FileReport] = []
    # A file that several logs share is a part of the first.
    told = {item.source.path for item in items}
    for (report, _), item in zip(results, items, strict=True):
        others = [path for path in item.source.files if path not in told]
        told.update(others)
        files += [report, *(part_report(path, item.source.path) for path in others)]
    return ImportReport(
        files=tuple(files),
        runs_added=sum(run.status == "imported" for run in written),
        verdicts_added=sum(run.n_new_verdicts for run in written),
        dry_run=options.dry_run,
    )
