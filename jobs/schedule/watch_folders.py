"""Import the files that appear in watched folders: each content once, and only when at rest.

A file is taken when two checks at least `settle` apart found the same size, change
time and inode. What was taken is remembered while the process lives; after a restart
files whose content the history knows are passed over, and importing others again is
a no-op. A refused file is tried again when it changes or the scheduler restarts.
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from jobs.app.app import App
from jobs.app.config_schedule import WatchSettings
from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.registry import logs_among, looks_like_log
from jobs.importing.import_runs import ImportOptions, import_runs
from jobs.importing.report import REFUSED, ImportReport
from jobs.schedule.ledger import IMPORT, JobKey, attempt_job, failure_message
from recurring_eval.errors import InputError
from storage.ledger import JobStatus
from storage.runs.imports import imported_file_hashes

log = logging.getLogger(__name__)

Look = tuple[int, int, int]
"""Size, change time and inode of a file."""


@dataclass(slots=True, kw_only=True)
class FolderWatch:
    """What one scheduler has seen of its watched folders.

    Attributes
    ----------
    watches : tuple of WatchSettings
    """

    watches: tuple[WatchSettings, ...]
    _seen: dict[Path, tuple[Look, datetime]] = field(default_factory=dict)
    _taken: dict[Path, Look] = field(default_factory=dict)
    _unreadable: set[Path] = field(default_factory=set)

    def look(self, now: datetime) -> list[tuple[WatchSettings, list[Path]]]:
        """List the files that rest and were not taken yet, by watched folder."""
        ready: dict[int, list[Path]] = defaultdict(list)
        present = {}
        for number, watch in enumerate(self.watches):
            for path, seen in self._files(watch):
                since = now
                if path in self._seen and self._seen[path][0] == seen:
                    # With a clock that went back the wait starts again.
                    since = min(self._seen[path][1], now)
                present[path] = (seen, since)
                if self._taken.get(path) != seen and now - since >= watch.settle:
                    ready[number].append(path)
        self._seen = present
        return [(self.watches[number], paths) for number, paths in sorted(ready.items())]

    def take(self, path: Path) -> None:
        """Remember a file, as it was last seen, as dealt with."""
        self._taken[path] = self._seen[path][0]

    def has_new(self) -> bool:
        """Whether the last check found files that were not taken."""
        return any(self._taken.get(path) != seen for path, (seen, _) in self._seen.items())

    def _files(self, watch: WatchSettings) -> Iterator[tuple[Path, Look]]:
        try:
            if not watch.path.exists():
                raise FileNotFoundError(2, "no such file or folder")
            for path in sorted(_walk(watch.path)):
                if looks_like_log(path):
                    facts = path.stat()
                    yield path, (facts.st_size, facts.st_mtime_ns, facts.st_ino)
            self._unreadable.discard(watch.path)
        except OSError as error:
            if watch.path not in self._unreadable:
                log.warning("watched folder %s: %s", watch.path, error.strerror or error)
            self._unreadable.add(watch.path)


def import_watched(app: App, watch: FolderWatch, *, owner: str) -> bool:
    """Import every file that rests; return False if any was refused or failed."""
    fine = True
    for folder, paths in watch.look(app.clock.now()):
        with app.open_history(read_only=True) as history:
            known = imported_file_hashes(history)
        changed = [path for path in paths if _digest(path) not in known]
        fresh = logs_among(changed, harness=folder.harness)
        if fresh and (report := _import(app, folder, fresh, owner=owner)) is None:
            fine = False
            continue
        for path in paths:
            watch.take(path)
        fine = fine and not (fresh and report is not None and report.n_refused)
    return fine


def _import(
    app: App, folder: WatchSettings, paths: list[Path], *, owner: str
) -> ImportReport | None:
    """Import files under a lease; None when that is to be tried again."""
    reports: list[ImportReport] = []

    def work(_attempt: int) -> str:
        try:
            report = import_runs(app, paths, _options(folder))
        except Exception as error:
            raise InputError(f"{folder.path}: {failure_message(error)}") from error
        reports.append(report)
        message = f"{folder.path}: {' '.join(report.text())}"
        if report.n_refused:
            raise InputError(message)
        return message

    ended = attempt_job(app, JobKey(job=IMPORT), app.clock.now().date(), work, owner=owner, done=())
    if ended is None:
        log.info("another process imports; %s waits", folder.path)
        return None
    status, message = ended
    for file in reports[0].files if reports else ():
        if file.status == REFUSED:
            log.error("import refused %s: %s", file.path, file.reason)
    log.log(logging.ERROR if status is JobStatus.FAILED else logging.INFO, "import of %s", message)
    return reports[0] if reports else None


def _options(folder: WatchSettings) -> ImportOptions:
    return ImportOptions(
        read=ReadOptions(agent=folder.agent),
        harness=folder.harness,
        benchmark=folder.benchmark,
        purpose=folder.purpose,
        extend_bank=folder.extend_bank,
        create=folder.benchmark is not None,
    )


def _walk(top: Path) -> Iterator[Path]:
    if top.is_file():
        yield top
        return
    for path in top.iterdir():
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.is_file():
            yield path


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
