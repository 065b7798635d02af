"""OpenAI evals: the events that ``oaieval`` records."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import JsonObject, as_list, as_object, as_score, as_text, json_lines
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.log_values import (
    plain_text,
    question_key,
    read_time,
    seconds_between,
    settings_text,
)
from jobs.harnesses.run_builder import LoggedVerdict, build_run, error_reason
from jobs.harnesses.selection import Selection, SelectionContext, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_NAME: Final = "openai-evals"
_SPEC_KEYS: Final = frozenset(("eval_name", "run_id"))
_READINGS: Final = ("any", "all", "last")


@dataclass(slots=True)
class _Sample:
    matches: list[bool] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    error: str | None = None
    times: list[datetime] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Events:
    spec: JsonObject
    samples: dict[str, _Sample]
    is_whole: bool
    cut: str | None


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim files of events by the specification in their first line."""
    return one_file_units(file for file in files if "spec" in file.keys and _is_events(file))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read what became of each sample."""
    events = _read_events(unit.path, options.timezone)
    task, run_id = as_text(events.spec.get("eval_name")), as_text(events.spec.get("run_id"))
    if not task or not run_id:
        raise InputError("names no eval and run in its first line")
    rule = options.rule(_NAME, task)
    judged = _judge(events.samples, rule, task)
    functions = map(plain_text, as_list(events.spec.get("completion_fns")))
    model = "+".join(filter(None, functions))
    run = build_run(
        judged,
        run_key=run_id,
        task=task,
        agent=options.agent or model,
        harness=_NAME,
        started_at=read_time(events.spec.get("created_at"), options.timezone),
        agent_config=settings_text(model=model),
        subset_id=subset_marked([unit.path.name, plain_text(events.spec.get("created_by"))]),
        asked=[key for key, sample in events.samples.items() if not _has_result(sample)],
    )
    partial = None
    if events.cut is not None or not events.is_whole:
        n = sum(_has_result(sample) for sample in events.samples.values())
        partial = f"the run was killed: {n} of its samples have a result"
    return LogFile(runs=(run,), partial=partial, has_tasks=True)


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Refuse: the ids are positions."""
    raise InputError(
        "OpenAI evals knows samples by their position in the data file and can only run the "
        f"first of them, so it cannot run {len(ids)} chosen ones of {context.benchmark!r}: in "
        "a file cut down to them they would have other ids"
    )


def _is_events(file: Peek) -> bool:
    return as_object(as_object(file.first_line).get("spec")).keys() >= _SPEC_KEYS


def _read_events(path: Path, timezone: str | None) -> _Events:
    spec: JsonObject = {}
    samples: dict[str, _Sample] = {}
    is_whole, cut = False, None
    try:
        for number, line in json_lines(path):
            event = as_object(line)
            if number == 1:
                spec = as_object(event.get("spec"))
            elif "final_report" in event:
                is_whole = True
            elif "sample_id" in event and event["sample_id"] is not None:
                key = question_key(event["sample_id"], typed=False)
                _add(samples.setdefault(key, _Sample()), event, timezone)
    except InputError as error:
        # The last line of a run that was killed.
        if not str(error).startswith("is cut short in line") or not samples:
            raise
        cut = str(error)
    return _Events(spec=spec, samples=samples, is_whole=is_whole, cut=cut)


def _add(sample: _Sample, event: JsonObject, timezone: str | None) -> None:
    kind, data = event.get("type"), as_object(event.get("data"))
    time = read_time(event.get("created_at"), timezone)
    sample.times += [time] if time else []
    if kind == "match" and isinstance(data.get("correct"), bool):
        sample.matches.append(data["correct"] is True)
    elif kind == "metrics":
        sample.metrics |= {
            key: as_score(value)
            for key, value in data.items()
            if isinstance(value, bool | int | float)
        }
    elif kind == "error":
        sample.error = f"{plain_text(data.get('type'))}: {plain_text(data.get('message'))}"


def _has_result(sample: _Sample) -> bool:
    return bool(sample.matches or sample.metrics or sample.error is not None)


def _judge(samples: dict[str, _Sample], rule: VerdictRule, task: str) -> list[LoggedVerdict]:
    by_match = any(sample.matches for sample in samples.values())
    metric, reading = "match", "last"
    if not by_match or rule.verdict not in (None, "match"):
        names = list(dict.fromkeys(name for s in samples.values() for name in s.metrics))
        choices = [*(["match"] if by_match else []), *names]
        if choices:
            metric = choose("metric", choices, rule.verdict, task=task)
    elif any(len(set(sample.matches)) > 1 for sample in samples.values()):
        reading = choose(
            "reading of samples that match more than once",
            _READINGS,
            rule.filter,
            option="--filter",
            task=task,
        )
    return [
        _verdict(key, sample, metric, reading, rule)
        for key, sample in samples.items()
        if _has_result(sample)
    ]


def _verdict(
    key: str, sample: _Sample, metric: str, reading: str, rule: VerdictRule
) -> LoggedVerdict:
    outcome = MISSING
    if metric == "match":
        if sample.matches:
            told = {"any": any(sample.matches), "all": all(sample.matches)}
            outcome = PASS if told.get(reading, sample.matches[-1]) else FAIL
    else:
        score = sample.metrics.get(metric, float("nan"))
        outcome = score_outcome(score, rule.threshold, where=f"sample {key!r}")
    seconds = float("nan")
    if len(sample.times) > 1:
        seconds = seconds_between(min(sample.times), max(sample.times))
    reason = error_reason(sample.error or "no verdict")
    return LoggedVerdict(question=key, outcome=outcome, reason=reason, duration_s=seconds)


OPENAI_EVALS: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""One file of events per run."""
