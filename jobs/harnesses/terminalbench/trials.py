"""Trials of a run of Terminal-Bench: their folders, files and verdicts."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import LogUnit
from jobs.harnesses.json_files import JsonObject, as_list, as_object, as_text, read_json
from jobs.harnesses.peek import Peek
from jobs.harnesses.question_key import check_id
from jobs.harnesses.run_builder import ERROR, TIMEOUT, LoggedVerdict, missing_reason
from jobs.harnesses.times import read_time
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

METADATA: Final = "run_metadata.json"
RESULTS: Final = "results.json"

_TRIAL_KEYS: Final = frozenset(("trial_name", "task_id", "is_resolved"))
_MERGED_KEYS: Final = frozenset(("results", "n_resolved", "n_unresolved"))
_METADATA_KEYS: Final = frozenset(("run_id", "agent_name", "n_attempts"))
_TRIAL: Final = re.compile(r"(?P<task>.+)\.(?P<attempt>[1-9]\d{0,4})-of-\d{1,5}\.(?P<run>.+)")
_ATTEMPT: Final = re.compile(r"([1-9]\d{0,4})-of-\d")
_NO_FAILURE: Final = ("", "unset", "none")

Key = tuple[str, int | None]


def run_folder(file: Peek) -> Path | None:
    """Folder of the run that a file is a part of."""
    name, path = file.path.name, file.path
    if name == METADATA and file.keys >= _METADATA_KEYS:
        return path.parent
    if name != RESULTS and not file.keys >= _TRIAL_KEYS:
        return None
    if file.keys >= _MERGED_KEYS:
        return path.parent
    # A damaged result is known by the names of its folders.
    is_named = _TRIAL.fullmatch(path.parent.name) is not None
    if file.keys >= _TRIAL_KEYS or is_named:
        return path.parents[2] if is_named and len(path.parents) > 2 else path.parent
    return None


def merged_trials(merged: JsonObject, rule: VerdictRule) -> dict[Key, LoggedVerdict]:
    """Verdicts of the file that holds all trials."""
    found = {}
    for trial in as_list(merged.get("results")):
        verdict = _verdict(as_object(trial), rule)
        found[verdict.question, verdict.trial] = verdict
    return found


def own_trials(unit: LogUnit, rule: VerdictRule) -> tuple[dict[Key, LoggedVerdict], dict[Key, str]]:
    """Verdicts of the trials' own files, and what is wrong with those that cannot be read."""
    found: dict[Key, LoggedVerdict] = {}
    broken: dict[Key, str] = {}
    for path in unit.files:
        if path.suffix != ".json" or path.name == METADATA or path == unit.path / RESULTS:
            continue
        if path.name != RESULTS and not Peek(path).keys >= _TRIAL_KEYS:
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


def trial_folders(unit: LogUnit) -> list[Key]:
    """Trials that have a folder, whether or not they came to an end."""
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
    reason = ""
    if outcome == MISSING:
        kind = TIMEOUT if "timeout" in mode else ERROR
        reason = missing_reason(kind, "" if mode in _NO_FAILURE else mode)
    started = read_time(trial.get("trial_started_at"))
    ended = read_time(trial.get("trial_ended_at"))
    verdict = LoggedVerdict(
        question=task_id,
        outcome=outcome,
        reason=reason,
        trial=int(attempt[1]) if attempt else None,
        started_at=started,
        finished_at=ended,
    )
    if started and ended:
        verdict = replace(verdict, duration_s=(ended - started).total_seconds())
    return verdict


def missing_trial(key: Key, reason: str) -> LoggedVerdict:
    """Verdict of a trial that has none."""
    return LoggedVerdict(question=key[0], outcome=MISSING, reason=reason, trial=key[1])
