"""Phoenix: experiments, as its client returns them or its server exports them as JSON."""

from collections.abc import Iterable, Sequence
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import (
    JsonObject,
    as_list,
    as_number,
    as_object,
    as_score,
    as_text,
    inside,
    read_json,
)
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.log_values import (
    digest,
    plain_text,
    question_key,
    read_time,
    seconds_between,
    settings_text,
)
from jobs.harnesses.run_builder import LoggedVerdict, build_run, error_reason
from jobs.harnesses.selection import Selection, SelectionContext, filtered_dataset, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_NAME: Final = "phoenix"
_EXPERIMENT_KEYS: Final = frozenset(("experiment_id", "task_runs"))
_EXPORT_KEYS: Final = frozenset(("example_id", "repetition_number"))
_RUN_KEYS: Final = frozenset(("dataset_example_id", "experiment_id"))
_PASS_WORDS: Final = frozenset(("correct", "pass", "passed", "true", "yes"))
_FAIL_WORDS: Final = frozenset(("incorrect", "fail", "failed", "false", "no"))


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim experiments."""
    keys = (_EXPERIMENT_KEYS, _EXPORT_KEYS, _RUN_KEYS)
    return one_file_units(file for file in files if any(file.keys >= k for k in keys))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read an experiment."""
    document = read_json(unit.path)
    experiment = as_object(document)
    runs = [
        as_object(run) for run in as_list(experiment.get("task_runs") if experiment else document)
    ]
    if not runs:
        raise InputError("has no runs of the task")
    results = _results(experiment, runs)
    rule = options.rule(_NAME, None)
    names = list(dict.fromkeys(name for told in results for name in told))
    if not names and all(not run.get("error") for run in runs):
        raise InputError("has no evaluations; evaluate the experiment and export it again")
    annotator = choose("annotator", names, rule.verdict) if names else ""
    run_key = as_text(experiment.get("experiment_id")) or as_text(runs[0].get("experiment_id"))
    named = [experiment.get("experiment_name"), experiment.get("name"), unit.path.name]
    metadata = as_object(experiment.get("experiment_metadata")) or as_object(
        experiment.get("metadata")
    )
    run = build_run(
        [_verdict(r, told, annotator, rule) for r, told in zip(runs, results, strict=True)],
        run_key=run_key or f"phoenix-{digest([[_example(r), r.get('start_time')] for r in runs])}",
        task=plain_text(experiment.get("dataset_id")) or None,
        agent=options.agent or plain_text(metadata.get("agent")),
        harness=_NAME,
        agent_config=settings_text(
            agent_version=metadata.get("agent_version"), model=metadata.get("model")
        ),
        subset_id=subset_marked(
            [*named, *metadata.values(), f"subset:{metadata.get('subset_id')}"]
        ),
    )
    return LogFile(runs=(run,))


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the ids for a filter of the examples."""
    return filtered_dataset(
        ids,
        context,
        tool="Phoenix",
        program=("python", "EXPERIMENT.py"),
        field="dataset example id",
        name="the experiment's name or metadata, or the name of the exported file,",
    )


def _example(run: JsonObject) -> object:
    found = run.get("dataset_example_id")
    return run.get("example_id") if found is None else found


def _results(experiment: JsonObject, runs: Sequence[JsonObject]) -> list[dict[str, JsonObject]]:
    """Find the evaluations of each run by the name of their annotator."""
    by_run: dict[str, dict[str, JsonObject]] = {}
    for item in as_list(experiment.get("evaluation_runs")):
        result = as_object(inside(item, "result"))
        told = {**result, "error": inside(item, "error")}
        name = plain_text(inside(item, "name"))
        by_run.setdefault(as_text(inside(item, "experiment_run_id")), {})[name] = told
    found = []
    for run in runs:
        own = {
            plain_text(inside(note, "name")): as_object(note)
            for note in (*as_list(run.get("annotations")), *as_list(run.get("evaluations")))
        }
        found.append({**by_run.get(as_text(run.get("id")), {}), **own})
    return found


def _verdict(
    run: JsonObject, results: dict[str, JsonObject], annotator: str, rule: VerdictRule
) -> LoggedVerdict:
    key = question_key(_example(run), typed=False)
    result = as_object(results.get(annotator))
    error = plain_text(run.get("error")) or plain_text(result.get("error"))
    started, ended = read_time(run.get("start_time")), read_time(run.get("end_time"))
    trial = run.get("repetition_number")
    seconds = seconds_between(started, ended)
    return LoggedVerdict(
        question=key,
        outcome=MISSING if error else _outcome(result, rule, key),
        reason=error_reason(error or f"no score of {annotator}"),
        trial=trial if isinstance(trial, int) and not isinstance(trial, bool) else None,
        started_at=started,
        finished_at=ended,
        duration_s=seconds if seconds == seconds else as_number(run.get("latency_ms")) / 1000.0,
    )


def _outcome(result: JsonObject, rule: VerdictRule, key: str) -> int:
    score, label = result.get("score"), as_text(result.get("label")).strip().lower()
    if isinstance(score, bool | int | float):
        return score_outcome(as_score(score), rule.threshold, where=f"example {key!r}")
    if not label:
        return MISSING
    if label not in _PASS_WORDS | _FAIL_WORDS:
        if label not in rule.counts:
            raise InputError(
                f"example {key!r} has the label {label[:40]!r} and no score; say what it is with "
                f"--count {label[:40]}=pass (or fail, missing; it is remembered)"
            )
        return rule.count(label, MISSING)
    return PASS if label in _PASS_WORDS else FAIL


PHOENIX: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Experiments on a dataset; a repetition is a trial."""
