"""Terminal-Bench: the folder of a run, with a folder per trial."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import JsonObject, as_list, as_object, as_text, inside, read_json
from jobs.harnesses.log_files import LogUnit, Peek, documents_in, units_of_folders
from jobs.harnesses.log_values import (
    check_id,
    plain_text,
    read_time,
    seconds_between,
    settings_text,
)
from jobs.harnesses.run_builder import (
    ERROR,
    NOT_RUN,
    TIMEOUT,
    LoggedVerdict,
    build_run,
    missing_reason,
)
from jobs.harnesses.selection import (
    Selection,
    SelectionContext,
    glob_literal,
    shell_command,
    subset_marked,
)
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_NAME: Final = "terminal-bench"
_METADATA: Final = "run_metadata.json"
_RESULTS: Final = "results.json"

_TRIAL_KEYS: Final = frozenset(("trial_name", "task_id", "is_resolved"))
_MERGED_KEYS: Final = frozenset(("results", "n_resolved", "n_unresolved"))
_METADATA_KEYS: Final = frozenset(("run_id", "agent_name", "n_attempts"))
_TRIAL: Final = re.compile(r"(?P<task>.+)\.(?P<attempt>[1-9]\d{0,4})-of-\d{1,5}\.(?P<run>.+)")
_ATTEMPT: Final = re.compile(r"([1-9]\d{0,4})-of-\d")
_NO_FAILURE: Final = ("", "unset", "none")

Key = tuple[str, int | None]
_SHOWN: Final = 5


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim the folders of runs with all that is in them."""
    return units_of_folders(files, _run_folder)


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read the trials of a run."""
    (metadata, merged), notes = documents_in(unit.path, (_METADATA, _RESULTS))
    task = plain_text(metadata.get("dataset_name")) or None
    rule = options.rule(_NAME, task)
    own, broken = _own_trials(unit, rule)
    found = {**_merged_trials(merged, rule), **own}
    lost = [key for key in broken if key not in found]
    for key, problem in broken.items():
        reason = missing_reason(ERROR, f"results.json {problem}")
        found.setdefault(key, _missing_trial(key, reason))
    if lost:
        notes.append(
            f"{len(lost)} results.json cannot be read, which counts as an error of: "
            + ", ".join(task_id for task_id, _ in lost[:_SHOWN])
        )
    for key in _trial_folders(unit):
        found.setdefault(key, _missing_trial(key, NOT_RUN))
    run_id = plain_text(metadata.get("run_id")) or unit.path.resolve().name
    run = build_run(
        found.values(),
        run_key=run_id,
        task=task,
        agent=options.agent or plain_text(metadata.get("agent_name")),
        harness=_NAME,
        started_at=read_time(metadata.get("start_time"), options.timezone),
        finished_at=read_time(metadata.get("end_time"), options.timezone),
        agent_config=settings_text(
            model=metadata.get("model_name"), commit=_commit(metadata.get("commit_hash"))
        ),
        tags=_tags(metadata),
        subset_id=subset_marked([run_id]),
        asked=_asked(metadata),
    )
    return LogFile(
        runs=(run,), notes=tuple(notes), partial=_partial(metadata, found), has_tasks=True
    )


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the command, each task as a literal pattern.

    Raises
    ------
    InputError
        If the tasks belong to several datasets or one cannot be passed.
    """
    task, keys = context.within_one_task(ids, tasks="datasets of Terminal-Bench")
    dataset = task or "DATASET"
    return Selection(
        command=shell_command(
            *("tb", "run", "--dataset", f"{dataset}==VERSION", "--run-id", context.label),
            *(f"--task-id={glob_literal(key)}" for key in keys),
        ),
        files=context.ids_file(keys),
        notes=(
            "put the dataset's version in the place of VERSION, and add --agent, --model and "
            "what else the run needs",
            f"keep {context.label} in the run id, by which the log is recognised; for a "
            "repetition add .r2 to it",
        ),
    )


def _run_folder(file: Peek) -> Path | None:
    """Folder of the run that a file is a part of."""
    name, path = file.path.name, file.path
    if name == _METADATA and file.keys >= _METADATA_KEYS:
        return path.parent
    if name != _RESULTS and not file.keys >= _TRIAL_KEYS:
        return None
    if file.keys >= _MERGED_KEYS:
        return path.parent
    # A damaged result is known by the names of its folders.
    is_named = _TRIAL.fullmatch(path.parent.name) is not None
    if file.keys >= _TRIAL_KEYS or is_named:
        return path.parents[2] if is_named and len(path.parents) > 2 else path.parent
    return None


def _merged_trials(merged: JsonObject, rule: VerdictRule) -> dict[Key, LoggedVerdict]:
    """Verdicts of the file that holds all trials."""
    found = {}
    for trial in as_list(merged.get("results")):
        verdict = _verdict(as_object(trial), rule)
        found[verdict.question, verdict.trial] = verdict
    return found


def _own_trials(
    unit: LogUnit, rule: VerdictRule
) -> tuple[dict[Key, LoggedVerdict], dict[Key, str]]:
    """Verdicts of the trials' own files, and what is wrong with those that cannot be read."""
    found: dict[Key, LoggedVerdict] = {}
    broken: dict[Key, str] = {}
    for path in unit.files:
        if path.suffix != ".json" or path.name == _METADATA or path == unit.path / _RESULTS:
            continue
        if path.name != _RESULTS and not Peek(path).keys >= _TRIAL_KEYS:
            continue
        try:
            trial = as_object(read_json(path))
            if not trial.keys() >= _TRIAL_KEYS:
                raise InputError("is no result of a trial")
            verdict = _verdict(trial, rule)
        except InputError as error:
            key = _key_of_folder(path.parent)
            if key is not None:
                broken[key] = str(error)
            continue
        key = (verdict.question, verdict.trial)
        if key in found and found[key].outcome != verdict.outcome:
            raise InputError(f"has two verdicts of trial {verdict.trial} of {verdict.question!r}")
        found[key] = verdict
    return found, broken


def _key_of_folder(folder: Path) -> Key | None:
    """Task and attempt of ``<task>/<task>.<attempt>-of-<n>.<run>``."""
    attempt = _ATTEMPT.match(folder.name.removeprefix(f"{folder.parent.name}."))
    if attempt is not None:
        return folder.parent.name, int(attempt[1])
    match = _TRIAL.fullmatch(folder.name)
    return (match["task"], int(match["attempt"])) if match else None


def _trial_folders(unit: LogUnit) -> list[Key]:
    """Trials that have a folder, whether or not they ended."""
    folders = dict.fromkeys(
        parent
        for path in unit.files
        for parent in path.parents
        if parent.parent.parent == unit.path and _TRIAL.fullmatch(parent.name)
    )
    return [key for folder in folders if (key := _key_of_folder(folder)) is not None]


def _verdict(trial: JsonObject, rule: VerdictRule) -> LoggedVerdict:
    task_id, name = as_text(trial.get("task_id")), as_text(trial.get("trial_name"))
    check_id(task_id)
    # A task's id may have dots, so the attempt is looked for behind it.
    rest = name.removeprefix(f"{task_id}.")
    attempt = _ATTEMPT.match(rest)
    mode = as_text(trial.get("failure_mode"))
    resolved = trial.get("is_resolved")
    outcome = PASS if resolved is True else FAIL if resolved is False else MISSING
    if outcome == FAIL and mode not in _NO_FAILURE:
        outcome = rule.count(mode.replace("_", "-"), FAIL)
    started = read_time(trial.get("trial_started_at"))
    ended = read_time(trial.get("trial_ended_at"))
    return LoggedVerdict(
        question=task_id,
        outcome=outcome,
        reason=missing_reason(
            TIMEOUT if "timeout" in mode else ERROR, "" if mode in _NO_FAILURE else mode
        ),
        trial=int(attempt[1]) if attempt else None,
        started_at=started,
        finished_at=ended,
        duration_s=seconds_between(started, ended),
    )


def _missing_trial(key: Key, reason: str) -> LoggedVerdict:
    """Verdict of a trial that has none."""
    return LoggedVerdict(question=key[0], outcome=MISSING, reason=reason, trial=key[1])


def _asked(metadata: JsonObject) -> list[str]:
    ids = [item for item in as_list(metadata.get("task_ids")) if isinstance(item, str)]
    return [key for key in ids if key.strip() and not re.search(r"[*?\[\0]", key)]


def _partial(metadata: JsonObject, found: dict[Key, LoggedVerdict]) -> str | None:
    n_done = sum(verdict.reason != NOT_RUN for verdict in found.values())
    n_tasks, n_attempts = metadata.get("dataset_size"), metadata.get("n_attempts")
    n_asked = len(found)
    if isinstance(n_tasks, int) and isinstance(n_attempts, int):
        n_asked = max(n_asked, min(n_tasks * n_attempts, 10**7))
    if n_done >= n_asked and metadata.get("end_time"):
        return None
    if n_done >= n_asked and not metadata:
        return None
    return f"the run was stopped or is not finished: {n_done} of {n_asked} trials are in the log"


def _commit(value: object) -> object:
    return None if value == "unknown" else value


def _tags(metadata: JsonObject) -> list[str]:
    name, version = inside(metadata, "dataset_name"), inside(metadata, "dataset_version")
    return [f"dataset={plain_text(name)}=={plain_text(version)}"] if name and version else []


TERMINAL_BENCH: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Runs of Terminal-Bench 0.2."""
