"""Import runs: each log stored whole, or refused whole with the reason."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.app.app import App
from jobs.harnesses.harness import ReadOptions
from jobs.importing.addressing import Addressed, Addressing, all_questions
from jobs.importing.report import FileReport, ImportReport, part_report
from jobs.importing.sources import read_sources
from jobs.importing.store import StoreOptions, store_source, unread_report
from recurring_eval.records import RunPurpose
from storage.runs.imports import remembered_files
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
        files = remembered_files(history)
        addressing = Addressing.load(
            history,
            app.settings,
            benchmark=options.benchmark,
            subset_id=options.subset_id,
            purpose=options.purpose,
            create=options.create,
        )
    read = addressing.read_options(options.read)

    def fingerprint(file_hash: str) -> str:
        return _fingerprint(file_hash, app, read, options)

    found = read_sources(
        paths,
        harness=options.harness,
        options=read,
        remembered=lambda digest: files.get(fingerprint(digest)),
    )
    items = addressing.place(found)
    if all(item.refusal or item.source.known for item in items):
        return _report([(unread_report(item), []) for item in items], options, items)
    store = StoreOptions(
        now=app.clock.now(),
        given=options.read,
        read=read,
        addressing=addressing,
        fingerprint=fingerprint,
        questions=all_questions(items),
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
