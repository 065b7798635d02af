"""HELM: the folders of ``benchmark_output/runs/<suite>/<run spec>``."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
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
    list_elements,
    read_json,
)
from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.log_values import (
    dated,
    plain_text,
    question_key,
    read_time,
    settings_text,
)
from jobs.harnesses.run_builder import ERROR, LoggedVerdict, build_run, missing_reason
from jobs.harnesses.selection import Selection, SelectionContext, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError

_NAME: Final = "helm"
_KEYS: Final = frozenset(("instance_id", "stats"))
_MODEL: Final = re.compile(r"[:,]model=[^,]*")
_DATE: Final = re.compile(rb'"request_datetime":\s*(\d{9,11})')
_HEAD: Final = 1 << 20
_NOT_VERDICTS: Final = re.compile(
    r"(num_|inference_|training_|logprob|max_prob|finish_reason|batch_size|prompt_|predicted_index"
    r"|ref_|bits_per|perplexity)"
)


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim folders with statistics per instance, and all that is in them."""
    for file in files:
        if file.keys >= _KEYS and file.head.lstrip()[:1] == b"[":
            folder = file.path.parent
            others = [f.path for f in files if f.path.parent == folder and f is not file]
            yield LogUnit(path=file.path, files=(file.path, *others))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read the statistics of a run."""
    folder = unit.path.resolve().parent
    spec = _run_spec(folder)
    name = plain_text(spec.get("name")) or folder.name
    task = _MODEL.sub("", name)
    rule = options.rule(_NAME, task)
    started, notes = _started(folder, unit.path)
    model = plain_text(inside(spec, "adapter_spec", "model"))
    with unit.path.open("rb") as stream:
        rows = [
            entry
            for item in list_elements(stream)
            if not (entry := as_object(item)).get("perturbation")
        ]
    stat = _choose_stat(rows, rule, task)
    run = build_run(
        [_verdict(row, stat, rule) for row in rows],
        run_key=f"{plain_text(folder.parent.name)}/{name}",
        task=task,
        agent=options.agent or model,
        harness=_NAME,
        started_at=started,
        agent_config=settings_text(model=model),
        subset_id=subset_marked([folder.parent.name, name]),
    )
    return LogFile(runs=(run,), notes=tuple(notes), has_tasks=True)


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Refuse: the ids are positions."""
    raise InputError(
        "HELM numbers its instances and can only run the first of them (--max-eval-instances),"
        f" so it cannot run {len(ids)} chosen ones of {context.benchmark!r} under their ids"
    )


def _run_spec(folder: Path) -> JsonObject:
    path = folder / "run_spec.json"
    try:
        return as_object(read_json(path)) if path.is_file() else {}
    except InputError as error:
        raise InputError(f"the run_spec.json beside it {error}") from None


def _started(folder: Path, fallback: Path) -> tuple[datetime, list[str]]:
    """Time of the first request in the state of the scenario, else of the file."""
    try:
        with (folder / "scenario_state.json").open("rb") as file:
            found = [read_time(int(text)) for text in _DATE.findall(file.read(_HEAD))]
    except OSError:
        found = []
    times = [time for time in found if time is not None]
    return dated(min(times, default=None), fallback)


def _means(row: JsonObject) -> dict[str, float]:
    return {
        as_text(inside(stat, "name", "name")): as_number(inside(stat, "mean"))
        for stat in as_list(row.get("stats"))
        if not inside(stat, "name", "perturbation")
    }


def _choose_stat(rows: Sequence[JsonObject], rule: VerdictRule, task: str) -> str:
    values: dict[str, set[float]] = {}
    for row in rows:
        for name, mean in _means(row).items():
            values.setdefault(name, set()).add(mean)
    names = [name for name in values if name and not _NOT_VERDICTS.match(name)]
    verdicts = [name for name in names if all(v in (0.0, 1.0) or v != v for v in values[name])]
    if not names:
        raise InputError("has no statistic that could be a verdict")
    return choose(
        "statistic",
        verdicts if verdicts and rule.verdict is None else names,
        rule.verdict,
        task=task,
    )


def _verdict(row: JsonObject, stat: str, rule: VerdictRule) -> LoggedVerdict:
    key = question_key(row.get("instance_id"), typed=False)
    means = _means(row)
    score = means.get(stat, float("nan"))
    trial = row.get("train_trial_index")
    return LoggedVerdict(
        question=key,
        outcome=score_outcome(score, rule.threshold, where=f"instance {key!r}"),
        reason=missing_reason(ERROR, f"no {stat}"),
        trial=trial + 1 if isinstance(trial, int) and 0 <= trial < 30_000 else None,
        duration_s=means.get("inference_runtime", float("nan")),
    )


HELM: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Runs of ``helm-run``."""
