"""SWE-bench: run reports, instance reports, leaderboard entries and sb-cli reports."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import as_object, as_text, inside, read_json
from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.log_values import dated, read_time
from jobs.harnesses.run_builder import LoggedVerdict, build_run
from jobs.harnesses.selection import Selection, SelectionContext, shell_command, subset_marked
from jobs.harnesses.swe_bench.instances import (
    of_details,
    of_instance_reports,
    of_leaderboard,
    of_report,
)
from recurring_eval.errors import InputError

_NAME: Final = "swebench"
_LOGS: Final = ("logs", "run_evaluation")
_DATE: Final = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_SUBSET: Final = re.compile(r"[._]subset\.")
_SB_CLI_NAME: Final = re.compile(r"(?P<subset>.+?)__(?P<split>.+?)__(?P<run>.+)")
_COPY: Final = re.compile(r"-[1-9]\d?$")
_INSTANCE: Final = "report.json"
_DETAILS: Final = "per_instance_details.json"
_METADATA: Final = ("metadata.yaml", "metadata.yml")
_SB_CLI: Final = frozenset(("pending_ids", "failed_ids"))


class _Form(Enum):
    REPORT = "report"
    SB_CLI = "sb-cli"
    INSTANCES = "instances"
    LEADERBOARD = "leaderboard"
    DETAILS = "details"


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim reports, folders of instance reports, and leaderboard entries."""
    paths = {file.path for file in files}
    folders: dict[Path, list[Path]] = {
        file.path.parent.parent: [] for file in files if _is_instance(file)
    }
    for path in sorted(paths) if folders else ():
        folder = next((parent for parent in path.parents if parent in folders), None)
        if folder is not None:
            folders[folder].append(path)
    for folder, contained in folders.items():
        yield LogUnit(path=folder, files=tuple(contained))
    for file in files:
        if file.path.name.endswith(".response.json"):
            report = file.path.with_name(file.path.name.removesuffix(".response.json") + ".json")
            if report in paths:
                yield LogUnit(
                    path=file.path, files=(file.path,), not_a_log="the answer sb-cli was sent"
                )
        elif _form_of(file) not in (None, _Form.INSTANCES):
            beside = [path for path in _metadata_of(file.path) if path in paths]
            yield LogUnit(path=file.path, files=(file.path, *beside))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a log in any of its forms."""
    first = unit.files[0]
    is_folder = unit.path.is_dir() or _is_instance(Peek(unit.path))
    form = _Form.INSTANCES if is_folder else _form_of(Peek(unit.path))
    identity = _identity(unit.path, form)
    rule = options.rule(_NAME, identity.dataset)
    notes: list[str] = []
    verdicts: list[LoggedVerdict]
    near = first.parent
    if form is _Form.INSTANCES:
        reports = [path for path in unit.files if path.name == _INSTANCE]
        verdicts, notes = of_instance_reports(reports, rule)
        run_files = [path.with_name("run.json") for path in reports]
    else:
        content = read_json(unit.path)
        if not isinstance(content, dict) or form is None:
            raise InputError("is no report of SWE-bench")
        run_files = _run_files_of(identity, near)
        if form is _Form.LEADERBOARD:
            verdicts = of_leaderboard(content, rule)
        elif form is _Form.DETAILS:
            verdicts = of_details(content)
        else:
            verdicts, notes = of_report(content, rule)
    started, undated = _started_at(identity, run_files, first)
    run = build_run(
        verdicts,
        run_key=identity.run_key,
        task=identity.dataset,
        agent=options.agent or _name_in_metadata(first) or identity.model,
        harness=_NAME,
        started_at=started,
        subset_id=subset_marked([identity.run_id]),
    )
    return LogFile(
        runs=(run,),
        notes=(*notes, *undated),
        others_failed=form is _Form.LEADERBOARD,
    )


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the command of the harness, and the ids as a list and as a pattern for the agent.

    Raises
    ------
    InputError
        If an id would be read as an option, or there are too many for a command line.
    """
    odd = [key for key in ids if key.startswith("-") or re.search(r"[\s,]", key)]
    if odd:
        raise InputError(f"SWE-bench cannot be given the instance id {odd[0]!r}")
    label = context.label
    command = shell_command(
        *("python", "-m", "swebench.harness.run_evaluation"),
        *("-d", "DATASET", "-p", "PREDICTIONS", "-id", label, "-i", *ids),
    )
    pattern = "^(" + "|".join(re.escape(key) for key in ids) + ")$"
    return Selection(
        command=command,
        files=context.ids_file(ids) | {f"{label}.filter.txt": pattern + "\n"},
        notes=(
            "put the dataset and the file of predictions in the places of DATASET and PREDICTIONS",
            "this only grades: the agent must have made a prediction for each of the ids in "
            f"{label}.ids.txt; {label}.filter.txt has them as a regular expression for an "
            "agent's own filter",
            f"keep {label} in the run id, by which the report is recognised; for a repetition "
            "add .r2 to it, for SWE-bench skips instances that have a report under the same id",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunIdentity:
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


def _of_report_file(path: Path) -> _RunIdentity:
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


def _of_sb_cli_file(path: Path) -> _RunIdentity | None:
    """Names in ``<subset>__<split>__<run_id>.json``; a copy numbered ``-1`` is the same run."""
    stem = path.stem
    if _COPY.search(stem) and (path.parent / f"{_COPY.sub('', stem)}.json").exists():
        stem = _COPY.sub("", stem)
    match = _SB_CLI_NAME.fullmatch(stem)
    if match is None:
        return None
    return _RunIdentity(run_key=stem, run_id=match["run"], model="", dataset=match["subset"])


def _of_log_folder(folder: Path) -> _RunIdentity:
    """Names in ``logs/run_evaluation/<run_id>/<model>``."""
    whole = folder.absolute()
    return _named(whole.name, whole.parent.name)


def _of_named_folder(folder: Path) -> _RunIdentity:
    """Names in a leaderboard's ``<date>_<model>``."""
    name = folder.absolute().name
    model = _DATE.sub("", name).strip("_-") or name
    return _RunIdentity(run_key=name, run_id=name, model=model)


def _started_at(
    identity: _RunIdentity, run_files: Iterable[Path], fallback: Path
) -> tuple[datetime, list[str]]:
    """Start of a run, which SWE-bench writes to ``run.json`` at best.

    Returns
    -------
    moment : datetime
    notes : list of str
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
        return min(times), []
    for text in (identity.run_id, identity.run_key):
        match = _DATE.search(text)
        if match is not None:
            try:
                day = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)
            except ValueError:
                continue
            return day, [f"the log has no time; the run is dated by its name, {day:%Y-%m-%d}"]
    return dated(None, fallback)


def _run_files_of(identity: _RunIdentity, near: Path) -> list[Path]:
    """``run.json`` files of the run in the logs beside its report."""
    return [
        path
        for folder in _logged_runs(near)
        if folder.name == identity.run_id
        for path in sorted(folder.glob("*/*/run.json"))
    ]


def _logged_runs(near: Path) -> list[Path]:
    logs = near.joinpath(*_LOGS)
    return sorted(path for path in logs.iterdir() if path.is_dir()) if logs.is_dir() else []


def _named(model: str, run_id: str) -> _RunIdentity:
    key = f"{model}.{run_id}" if model else run_id
    return _RunIdentity(run_key=key, run_id=run_id, model=model.replace("__", "/"))


def _form_of(file: Peek) -> _Form | None:
    if file.path.suffix != ".json":
        return None
    if not isinstance(file.document, dict):
        # Cut short: the head and the name are all there is.
        if file.path.name == _DETAILS:
            return _Form.DETAILS
        keys = file.keys
    else:
        keys = frozenset(file.document)
    if "n_resolved" in keys or "results" in keys:
        return None
    if "resolved_ids" in keys or {"submitted_ids", "completed_ids"} <= keys:
        return _Form.SB_CLI if keys & _SB_CLI else _Form.REPORT
    if {"resolved", "no_generation"} <= keys or {"resolved", "no_logs"} <= keys:
        return _Form.LEADERBOARD
    values = list(as_object(file.document).values())
    if values and all(
        "resolved" in as_object(value) and "cost" in as_object(value) for value in values
    ):
        return _Form.DETAILS
    return None


def _is_instance(file: Peek) -> bool:
    """Whether a file is the report of one instance, in the folder of that name."""
    if file.path.name != _INSTANCE:
        return False
    if isinstance(file.document, dict):
        return "resolved" in as_object(file.document.get(file.path.parent.name))
    return file.path.parts[-6:-4] == _LOGS or file.path.absolute().parts[-6:-4] == _LOGS


def _identity(path: Path, form: _Form | None) -> _RunIdentity:
    if form is _Form.INSTANCES:
        return _of_log_folder(path if path.is_dir() else path.parent.parent)
    if form is _Form.LEADERBOARD:
        return _of_named_folder(
            path.parent.parent if path.parent.name == "results" else path.parent
        )
    if form is _Form.DETAILS:
        return _of_named_folder(path.parent)
    sb_cli = _of_sb_cli_file(path) if form is _Form.SB_CLI else None
    return sb_cli or _of_report_file(path)


def _metadata_of(path: Path) -> list[Path]:
    """List where a leaderboard entry may be described: beside its results or one folder up."""
    return [folder / name for folder in path.parents[:2] for name in _METADATA]


def _name_in_metadata(path: Path) -> str:
    """``name:`` of the description; the one line of YAML that is needed."""
    if path.name not in (_DETAILS, "results.json"):
        return ""
    for found in _metadata_of(path):
        if found.is_file():
            for line in found.read_text(encoding="utf-8", errors="replace")[:65536].splitlines():
                key, _, value = line.strip().partition(":")
                if key == "name" and value.strip():
                    return value.strip().strip("'\"")
    return ""


SWE_BENCH: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Results of ``swebench.harness.run_evaluation``, ``sb-cli`` and the leaderboard."""
