"""Inspect AI: ``.eval`` archives and ``.json`` logs."""

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.inspect_ai.log import HEADER, START, read_archive, read_json_log
from jobs.harnesses.inspect_ai.samples import choose_scorer, judge, sample_ids
from jobs.harnesses.json_files import JsonObject, as_list, as_object, as_text, inside
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.log_values import logged_id, read_time
from jobs.harnesses.run_builder import build_run
from jobs.harnesses.selection import (
    Selection,
    SelectionContext,
    glob_literal,
    shell_command,
    subset_marked,
)
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError

_NAME: Final = "inspect"
_ARCHIVE_MARKS: Final = (b"_journal/", b"header.json", b"samples/")
_JSON_KEYS: Final = frozenset(("version", "status", "eval"))
_AGENT_KEYS: Final = ("agent", "agent_name")
_CONFIG_KEYS: Final = (
    "agent_version",
    "version",
    "agent_config",
    "config_hash",
    "commit",
)


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim archives and JSON logs, each on its own."""
    return one_file_units(file for file in files if _is_log(file))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read the summaries of a log."""
    with unit.path.open("rb") as file:
        is_archive = file.read(2) == b"PK" or unit.path.suffix == ".eval"
    content = read_archive(unit.path) if is_archive else read_json_log(unit.path)
    header, samples = content.header, content.samples
    spec = as_object(header.get("eval"))
    task, run_key = as_text(spec.get("task")), as_text(spec.get("eval_id"))
    if not task or not run_key:
        raise InputError("is no log of Inspect AI: `eval` names no task and eval_id")
    rule = options.rule(_NAME, task)
    scorer, note = choose_scorer(header, samples, rule)
    status = as_text(header.get("status")) or "started"
    asked = sample_ids(spec.get("dataset"))
    metadata = {**as_object(spec.get("metadata")), **as_object(header.get("metadata"))}
    tags = _tags(header, spec)
    run = build_run(
        (judge(sample, scorer, rule, was_stopped=status != "success") for sample in samples),
        run_key=run_key,
        task=task,
        agent=options.agent or _agent(metadata, spec),
        harness=_NAME,
        started_at=read_time(spec.get("created")),
        finished_at=read_time(inside(header, "stats", "completed_at")),
        agent_config=_agent_config(metadata, spec),
        tags=[tag for tag in tags if subset_marked([tag]) is None],
        subset_id=_subset(tags, metadata),
        asked=asked,
    )
    task_id = as_text(spec.get("task_id"))
    return LogFile(
        runs=(run,),
        notes=() if note is None else (note,),
        partial=_partial(status, asked, len({sample.key for sample in samples})),
        has_tasks=True,
        lineages={run_key: f"{_NAME}:{task_id}"} if task_id else {},
        decided=VerdictRule(verdict=scorer if note is not None else None),
    )


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Write a run configuration, the one form that takes any id.

    Inspect matches each entry as a shell pattern, so patterns are escaped; it pads ids of
    digits to one length, so 7 and "007" cannot be told apart; and it strips the task's own
    name before a colon, so such ids are written with it twice.

    Raises
    ------
    InputError
        If an id cannot be selected, or not without another.
    """
    task, keys = context.within_one_task(ids, tasks="tasks of Inspect AI")
    _refuse_twins(ids, context)
    name = task or context.benchmark
    config = {
        "eval_config": {"sample_id": [_pattern(key, name) for key in keys]},
        "tags": [context.mark],
        "metadata": {"subset_id": context.subset_id},
    }
    file = f"{context.label}.json"
    return Selection(
        command=shell_command(
            "inspect", "eval", "TASK_FILE", "--run-config", context.path_of(file)
        ),
        files={file: json.dumps(config, indent=1) + "\n"},
        notes=(
            f"put the file of task {name!r} in the place of TASK_FILE, and add --model and "
            "what else the run needs; leave out --limit and --sample-id",
        ),
    )


def _is_log(file: Peek) -> bool:
    if file.is_zip:
        if any(mark in file.head for mark in _ARCHIVE_MARKS) and _has_members(file):
            return True
    elif file.keys >= _JSON_KEYS:
        return True
    return file.path.suffix == ".eval"


def _has_members(file: Peek) -> bool:
    try:
        with zipfile.ZipFile(file.path) as archive:
            return not {HEADER, START}.isdisjoint(archive.namelist())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, EOFError):
        return False


def _partial(status: str, asked: Sequence[str], n_logged: int) -> str | None:
    if status == "success" and n_logged >= len(asked):
        return None
    ends = {
        "success": "the log lacks samples",
        "error": "the run stopped at an error",
        "cancelled": "the run was cancelled",
    }
    end = ends.get(status, "the run was killed or is not finished")
    return f"{end}: {n_logged} of {max(n_logged, len(asked))} samples are in the log"


def _tags(header: JsonObject, spec: JsonObject) -> list[str]:
    """Tags as they were edited, else as they were given."""
    found = as_list(header.get("tags")) or as_list(spec.get("tags"))
    return [tag for tag in dict.fromkeys(map(as_text, found)) if tag]


def _subset(tags: Sequence[str], metadata: Mapping[str, object]) -> str | None:
    return subset_marked([*tags, f"subset:{metadata.get('subset_id')}", *metadata.values()])


def _agent(metadata: Mapping[str, object], spec: JsonObject) -> str:
    named = [as_text(metadata.get(key)) for key in _AGENT_KEYS]
    return next(filter(None, [*named, as_text(spec.get("solver"))]), as_text(spec.get("model")))


def _agent_config(metadata: Mapping[str, object], spec: JsonObject) -> str:
    facts = {key: metadata.get(key) for key in _CONFIG_KEYS}
    facts["model"] = spec.get("model")
    facts["commit"] = facts["commit"] or inside(spec, "revision", "commit")
    return " ".join(
        f"{key}={value}" for key, value in facts.items() if isinstance(value, str | int) and value
    )


_DIGITS = 20


def _refuse_twins(ids: Sequence[str], context: SelectionContext) -> None:
    """Refuse to select a question that Inspect would run together with another."""
    chosen = set(ids)
    twins: dict[str, list[str]] = {}
    for key in {*context.bank_ids, *ids}:
        task, rest = context.within_task(key)
        twins.setdefault(f"{task}\0{_normalised(rest)}", []).append(key)
    for group in twins.values():
        left = sorted(set(group) - chosen)
        if left and len(left) < len(group):
            asked = sorted(set(group) & chosen)
            raise InputError(
                f"Inspect AI cannot run sample {asked[0]!r} without sample {left[0]!r}, for it "
                "reads both as the same number; rename one in the dataset"
            )


def _pattern(key: str, task: str) -> str | int:
    value = logged_id(key)
    _normalised(key)
    if isinstance(value, int):
        return value
    pattern = glob_literal(value)
    prefix, colon, _ = value.partition(":")
    if colon and prefix.lower() == task.lower():
        return f"{prefix}:{pattern}"
    return pattern


def _normalised(key: str) -> str:
    value = logged_id(key)
    if isinstance(value, str) and value.isdigit():
        try:
            value = int(value)
        except ValueError:
            raise InputError(
                f"Inspect AI stops at the sample id {value!r}, a digit it cannot read as a number; "
                "rename it in the dataset"
            ) from None
    return value if isinstance(value, str) else str(value).zfill(_DIGITS)


INSPECT_AI: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Logs of `inspect eval`, `eval-set` and `eval-retry`."""
