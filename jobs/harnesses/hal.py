"""HAL: the ``<run_id>_UPLOAD.json`` of the HAL harness."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import JsonObject, as_list, as_number, as_object, as_score, read_json
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.log_values import plain_text, question_key, read_time, settings_text
from jobs.harnesses.run_builder import ERROR, LoggedVerdict, build_run, missing_reason
from jobs.harnesses.selection import Selection, SelectionContext, shell_command, subset_marked
from jobs.harnesses.swe_bench.instances import of_report
from jobs.harnesses.verdict_rule import VerdictRule, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_NAME: Final = "hal"
_KEYS: Final = frozenset(("config", "results", "raw_eval_results"))
_SCORES: Final = ("reward", "score", "resolved", "correct", "success")
_EPOCH: Final = re.compile(r"_(1\d{9})$")


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim uploads."""
    return one_file_units(file for file in files if file.keys >= _KEYS)


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a run."""
    document = as_object(read_json(unit.path))
    config = as_object(document.get("config"))
    task = plain_text(config.get("benchmark_name"))
    run_id = plain_text(config.get("run_id"))
    if not task or not run_id:
        raise InputError("names no benchmark and run in `config`")
    rule = options.rule(_NAME, task)
    settings = as_object(config.get("agent_args"))
    run = build_run(
        _verdicts(document, rule),
        run_key=run_id,
        task=task,
        agent=options.agent or plain_text(config.get("agent_name")),
        harness=_NAME,
        started_at=_started(config, run_id, options.timezone),
        agent_config=settings_text(
            agent_version=config.get("agent_version"),
            model=settings.get("model_name") or settings.get("model"),
        ),
        subset_id=subset_marked([run_id]),
    )
    return LogFile(runs=(run,), has_tasks=True)


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the command with a list of tasks.

    Raises
    ------
    InputError
        If the tasks belong to several benchmarks or the id of one has a comma.
    """
    task, keys = context.within_one_task(ids, tasks="benchmarks of HAL")
    odd = [key for key in keys if "," in key or key != key.strip()]
    if odd:
        raise InputError(f"HAL takes tasks as a list with commas, so {odd[0]!r} cannot be named")
    return Selection(
        command=shell_command(
            *("hal-eval", "--benchmark", task or "BENCHMARK"),
            *("--run_id", context.label, f"--task_ids={','.join(keys)}"),
        ),
        files=context.ids_file(keys),
        notes=("add --agent_dir, --agent_function, --agent_name and what else the run needs",),
    )


def _verdicts(document: JsonObject, rule: VerdictRule) -> list[LoggedVerdict]:
    results, raw = as_object(document.get("results")), document.get("raw_eval_results")
    seconds = as_object(document.get("wall_clock_times"))
    report = as_object(raw)
    if "resolved_ids" in report:
        return of_report(report, rule)[0]
    told = dict.fromkeys(map(_id, as_list(results.get("failed_tasks"))), FAIL)
    told |= dict.fromkeys(map(_id, as_list(results.get("successful_tasks"))), PASS)
    verdicts = []
    for key in dict.fromkeys([*map(_id, report), *told]):
        value = report.get(key)
        if isinstance(value, str) or (key not in told and _score(value) is None):
            outcome = MISSING
        elif key in told:
            outcome = told[key]
        else:
            outcome = score_outcome(_score(value) or 0.0, rule.threshold, where=f"task {key!r}")
        verdicts.append(
            LoggedVerdict(
                question=key,
                outcome=outcome,
                reason=missing_reason(ERROR, value),
                duration_s=as_number(seconds.get(key)),
            )
        )
    return verdicts


def _id(value: object) -> str:
    return question_key(value, typed=False)


def _score(value: object) -> float | None:
    """Score of a task's raw result; None where it has none."""
    named = as_object(value)
    scores = [value, *(named.get(name) for name in _SCORES)]
    return next(
        (as_score(score) for score in scores if isinstance(score, bool | int | float)), None
    )


def _started(config: JsonObject, run_id: str, timezone: str | None) -> datetime | None:
    """Take the second in the run's id if it is of the day that is logged, else that day."""
    day = read_time(config.get("date"), timezone)
    epoch = _EPOCH.search(run_id)
    moment = read_time(float(epoch[1])) if epoch else None
    if day is None or (moment is not None and abs(moment - day) < timedelta(days=2)):
        return moment
    return day


HAL: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Results of ``hal-eval``."""
