"""Which run of SWE-bench a file belongs to, and when it was."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import as_text, inside, read_json
from jobs.harnesses.times import read_time
from recurring_eval.errors import InputError

LOGS: Final = ("logs", "run_evaluation")

_DATE: Final = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_SUBSET: Final = re.compile(r"[._]subset\.")
_SB_CLI: Final = re.compile(r"(?P<subset>.+?)__(?P<split>.+?)__(?P<run>.+)")
_COPY: Final = re.compile(r"-[1-9]\d?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """Names of a run.

    Attributes
    ----------
    run_key : str
        ``<model>.<run_id>``, as SWE-bench names its report.
    run_id, model : str
        The model may be empty.
    dataset : str or None
    """

    run_key: str
    run_id: str
    model: str
    dataset: str | None = None


def of_report_file(path: Path) -> RunIdentity:
    """Names in ``<model>.<run_id>.json``; dots in both are told apart by the logs beside it."""
    stem = path.stem
    for folder in _logged_runs(path.parent):
        run_id = folder.name
        if stem.endswith(f".{run_id}"):
            return _named(stem.removesuffix(f".{run_id}"), run_id)
    marked = _SUBSET.search(stem)
    if marked is not None:
        return _named(stem[: marked.start()], stem[marked.start() + 1 :])
    model, dot, run_id = stem.rpartition(".")
    # In `agent-v1.4.nightly` the last dot is the one; in `agent-v1.4` there is none.
    return _named(model, run_id) if dot and not run_id.isdigit() else _named("", stem)


def of_sb_cli_file(path: Path) -> RunIdentity | None:
    """Names in ``<subset>__<split>__<run_id>.json``; a copy numbered ``-1`` is the same run."""
    stem = path.stem
    if _COPY.search(stem) and (path.parent / f"{_COPY.sub('', stem)}.json").exists():
        stem = _COPY.sub("", stem)
    match = _SB_CLI.fullmatch(stem)
    if match is None:
        return None
    return RunIdentity(run_key=stem, run_id=match["run"], model="", dataset=match["subset"])


def of_log_folder(folder: Path) -> RunIdentity:
    """Names in ``logs/run_evaluation/<run_id>/<model>``."""
    whole = folder.absolute()
    return _named(whole.name, whole.parent.name)


def of_named_folder(folder: Path) -> RunIdentity:
    """Names in a leaderboard's ``<date>_<model>``."""
    name = folder.absolute().name
    model = _DATE.sub("", name).strip("_-") or name
    return RunIdentity(run_key=name, run_id=name, model=model)


def started_at(
    identity: RunIdentity, run_files: Iterable[Path], fallback: Path
) -> tuple[datetime, str | None]:
    """Start of a run, which SWE-bench tells in ``run.json`` at best.

    Returns
    -------
    moment : datetime
    note : str or None
        Where a time of lower quality was taken from.
    """
    times = []
    for path in run_files:
        try:
            told = read_time(as_text(inside(read_json(path), "created_at")))
        except (InputError, OSError):
            continue
        times += [told] if told else []
    if times:
        return min(times), None
    for text in (identity.run_id, identity.run_key):
        match = _DATE.search(text)
        if match is not None:
            try:
                day = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)
            except ValueError:
                continue
            return day, f"the log has no time; the run is dated by its name, {day:%Y-%m-%d}"
    moment = datetime.fromtimestamp(int(fallback.stat().st_mtime), tz=UTC)
    return moment, f"the log has no time; that of the file is taken, {moment:%Y-%m-%d %H:%M} UTC"


def run_files_of(identity: RunIdentity, near: Path) -> list[Path]:
    """``run.json`` files of the run in the logs beside its report."""
    return [
        path
        for folder in _logged_runs(near)
        if folder.name == identity.run_id
        for path in sorted(folder.glob("*/*/run.json"))
    ]


def _logged_runs(near: Path) -> list[Path]:
    logs = near.joinpath(*LOGS)
    return sorted(path for path in logs.iterdir() if path.is_dir()) if logs.is_dir() else []


def _named(model: str, run_id: str) -> RunIdentity:
    key = f"{model}.{run_id}" if model else run_id
    return RunIdentity(run_key=key, run_id=run_id, model=model.replace("__", "/"))
