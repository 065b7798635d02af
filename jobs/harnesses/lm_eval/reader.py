"""lm-evaluation-harness: ``results_<time>.json`` with ``samples_<task>_<time>.jsonl``."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import (
    JsonObject,
    as_list,
    as_number,
    as_object,
    as_text,
    inside,
    parse_json,
    read_json,
)
from jobs.harnesses.lm_eval.samples import SampleRow, judge_rows, read_rows
from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.log_values import read_time
from jobs.harnesses.run_builder import build_run
from jobs.harnesses.selection import Selection, SelectionContext, shell_command, subset_marked
from recurring_eval.errors import InputError

_NAME: Final = "lm-eval"
_RESULT_KEYS: Final = frozenset(("results", "configs", "n-shot"))
_SAMPLE_KEYS: Final = frozenset(("doc_id", "doc"))
_STAMP: Final = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl?$")
_RESULTS_NAME: Final = re.compile(r"results_\d{4}-\d\d-\d\dT.*\.json")
_SAMPLES_NAME: Final = re.compile(r"samples_.*_\d{4}-\d\d-\d\dT.*\.jsonl")
_MODEL_KEYS: Final = ("pretrained", "model", "path", "engine")


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim each file of samples with the results beside it, and results without samples."""
    results = [file.path for file in files if _is_results(file)]
    used: set[Path] = set()
    for file in files:
        if not _is_samples(file):
            continue
        beside = _results_of(file.path, results)
        used.update(beside)
        yield LogUnit(path=file.path, files=(file.path, *beside))
    for path in results:
        if path not in used:
            yield LogUnit(path=path, files=(path,))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read the samples of one task."""
    if unit.path.suffix == ".json":
        read_json(unit.path)
        raise InputError("holds averages only; run lm-eval with --log_samples")
    beside = unit.files[1:] or tuple(_results_of(unit.path, _results_near(unit.path)))
    if not beside:
        raise InputError("has no results_<time>.json beside it, which names model and time")
    try:
        results = as_object(read_json(beside[0]))
    except InputError as error:
        raise InputError(f"the results beside it, {beside[0].name}: {error}") from None
    task = _task_of(unit.path, results)
    rule = options.rule(_NAME, task)
    found = read_rows(unit.path, rule.question)
    verdicts, notes = judge_rows(
        task, found.rows, rule, as_object(inside(results, "higher_is_better", task))
    )
    started = read_time(results.get("date"))
    if started is None:
        raise InputError(f"the results beside it, {beside[0].name}, have no date")
    seconds = as_number(_float(results.get("total_evaluation_time_seconds")))
    run = build_run(
        verdicts,
        run_key=f"{_model_name(results)}-{started:%Y-%m-%dT%H:%M:%S.%f}Z",
        task=task,
        agent=options.agent or _agent(results),
        harness=_NAME,
        started_at=started,
        finished_at=read_time(started.timestamp() + seconds),
        agent_config=_agent_config(results),
        tags=_tags(results, task),
        # The selection puts it into the metadata of each task.
        subset_id=as_text(inside(results, "configs", task, "metadata", "subset_id"))
        or subset_marked(unit.path.absolute().parts[-4:-1]),
    )
    if rule.question is None and found.id_fields:
        notes.append(
            "questions are known by doc_hash; --question FIELD takes a field of the documents,"
            f" here one of {', '.join(found.id_fields)}"
        )
    locators = {task: _locators_of(task, found.rows)} if found.in_order else {}
    if not found.in_order:
        notes.append(
            "doc_id was ignored: lm-eval labels documents wrongly when they were asked out of"
            " order; they are known by their content"
        )
    return LogFile(runs=(run,), notes=tuple(notes), has_tasks=True, locators=locators)


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Write the positions of the documents in a file.

    They are ascending, for lm-eval labels documents wrongly when they are not.

    Raises
    ------
    InputError
        If the position of a document is not known.
    """
    positions: dict[str, set[int]] = {}
    for locator in context.located(ids, "the position in the dataset"):
        parsed = parse_json(locator.encode())
        task, *rest = as_list(parsed)
        found = {item for item in as_list(rest[0] if rest else None) if isinstance(item, int)}
        positions.setdefault(as_text(task), set()).update(found)
    tasks = sorted(positions)
    if any("," in task for task in tasks):
        raise InputError("lm-eval cannot run a task with a comma in its name")
    file = f"{context.label}.json"
    samples = {task: sorted(positions[task]) for task in tasks}
    return Selection(
        command=shell_command(
            *("lm_eval", "run", "--tasks", ",".join(tasks)),
            *("--samples", context.path_of(file), "--log_samples"),
            *("--output_path", context.label),
            *("--metadata", json.dumps({"subset_id": context.subset_id})),
        ),
        files={file: json.dumps(samples) + "\n"},
        notes=(
            "add --model, --model_args and what else the run needs; leave out --limit",
            "positions are those of the newest imported run; they move when the dataset changes",
        ),
    )


def _is_results(file: Peek) -> bool:
    if file.path.suffix != ".json":
        return False
    if isinstance(file.document, dict):
        return file.document.keys() >= _RESULT_KEYS
    # Cut short, or larger than is looked at.
    return bool(_RESULTS_NAME.fullmatch(file.path.name)) and "results" in file.keys


def _is_samples(file: Peek) -> bool:
    if file.path.suffix not in (".jsonl", ".json"):
        return False
    return file.keys >= _SAMPLE_KEYS or bool(_SAMPLES_NAME.fullmatch(file.path.name))


def _results_near(path: Path) -> list[Path]:
    return [file for file in sorted(path.parent.glob("*.json")) if _is_results(Peek(file))]


def _results_of(samples: Path, results: Sequence[Path]) -> list[Path]:
    """Find the results beside samples, by their stamp or because they are the only ones."""
    near = [path for path in results if path.parent == samples.parent]
    stamp = _STAMP.search(samples.name)
    same = [path for path in near if stamp and path.name.endswith(f"_{stamp[1]}.json")]
    return (same or near)[:1] if same or len(near) == 1 else []


def _task_of(samples: Path, results: JsonObject) -> str:
    tasks = [*as_object(results.get("configs"))]
    stem = _STAMP.sub("", samples.name).removeprefix("samples_")
    found = [task for task in tasks if task == stem or task.replace("/", "__") == stem]
    if len(found) != 1 and len(tasks) == 1:
        found = tasks
    if len(found) != 1:
        raise InputError(
            "belongs to a task that the results beside it do not name; keep the name that lm-eval"
            " gave it"
        )
    return found[0]


def _model_name(results: JsonObject) -> str:
    return as_text(results.get("model_name")) or as_text(inside(results, "config", "model"))


def _agent(results: JsonObject) -> str:
    """Name of the model; without one lm-eval writes random letters, and the kind of model is it."""
    arguments = inside(results, "config", "model_args")
    named = (
        any(key in arguments for key in _MODEL_KEYS) if isinstance(arguments, dict | str) else False
    )
    kind = as_text(inside(results, "config", "model"))
    return (_model_name(results) if named else kind) or "unknown"


def _agent_config(results: JsonObject) -> str:
    arguments = inside(results, "config", "model_args")
    if isinstance(arguments, dict):
        arguments = ",".join(f"{key}={value}" for key, value in arguments.items())
    facts = {"model": inside(results, "config", "model"), "model_args": arguments}
    return " ".join(f"{key}={value}" for key, value in facts.items() if value)[:2000]


def _tags(results: JsonObject, task: str) -> list[str]:
    facts = {
        "lm-eval": results.get("lm_eval_version"),
        "task-version": inside(results, "versions", task),
        "limit": inside(results, "config", "limit"),
    }
    return [
        f"{key}={value}" for key, value in facts.items() if isinstance(value, str | int | float)
    ]


def _float(value: object) -> object:
    """Seconds, which lm-eval writes as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _locators_of(task: str, rows: Iterable[SampleRow]) -> dict[str, str]:
    """Task and positions of each document, for documents alike are the same question."""
    positions: dict[str, set[int]] = {}
    for row in rows:
        if row.doc_id is not None:
            positions.setdefault(row.key, set()).add(row.doc_id)
    return {key: json.dumps([task, sorted(found)]) for key, found in positions.items()}


LM_EVAL: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Runs logged with ``--log_samples``."""
