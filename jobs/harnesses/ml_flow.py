"""MLflow: ``eval_results_table.json``, and the results of ``mlflow.genai.evaluate`` as records."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
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
    choose_id_field,
    dated,
    digest,
    keys_of,
    plain_text,
    read_time,
    settings_text,
)
from jobs.harnesses.run_builder import ERROR, LoggedVerdict, build_run, missing_reason
from jobs.harnesses.selection import Selection, SelectionContext, filtered_dataset, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING

_NAME: Final = "mlflow"
_TABLE_KEYS: Final = frozenset(("columns", "data"))
_SUFFIXES: Final = ("/value", "/score")
_RUN_ID: Final = re.compile(r"[0-9a-f]{32}")
_ASKED: Final = ("inputs", "input", "question", "prompt", "request")
_NO_SCORE: Final = missing_reason(ERROR, "no score")
_WORDS: Final = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "pass": 1.0, "fail": 0.0}

Row = Mapping[str, object]


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim tables and records that have a metric."""
    return one_file_units(file for file in files if _is_table(file) or _is_records(file))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a table."""
    rows = _rows(read_json(unit.path))
    if not rows:
        raise InputError("has no rows")
    rule = options.rule(_NAME, None)
    metrics = _metrics(rows)
    if not metrics:
        raise InputError("has no column of scores")
    metric = choose("metric", list(metrics), _plain_name(rule.verdict))
    fields = [_fields(row, {c for names in metrics.values() for c in names}) for row in rows]
    contents = [_asked(row) for row in rows]
    field = choose_id_field(fields, contents, rule.question)
    keys = keys_of(fields, contents, field)
    verdicts, notes = _verdicts(rows, keys, metrics[metric], rule)
    times = [time for row in rows if (time := read_time(row.get("request_time"))) is not None]
    started, undated = dated(min(times, default=None), unit.path)
    notes += undated
    run_id, is_own = _run_id(rows, unit.path)
    names = [plain_text(value) for value in as_object(rows[0].get("tags")).values()]
    model = _common(rows, "mlflow.modelId")
    run = build_run(
        verdicts,
        run_key=run_id,
        task=None,
        agent=options.agent or _common(rows, "agent"),
        harness=_NAME,
        started_at=started,
        agent_config=settings_text(model=model, commit=_common(rows, "mlflow.source.git.commit")),
        subset_id=subset_marked([*names, unit.path.name, *unit.path.resolve().parts[-4:-1]]),
    )
    if not is_own:
        notes.append("the run is known by its content, for the file does not name MLflow's run")
    if rule.question is None:
        notes.append(f"questions are known by {field}; --question names another field")
    return LogFile(runs=(run,), notes=tuple(notes), decided=VerdictRule(question=field))


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the ids for a filter of the data."""
    return filtered_dataset(
        ids,
        context,
        tool="MLflow",
        program=("python", "EVALUATION.py"),
        field=context.rule.question or "id",
        name="a tag of the traces, or the name of the exported file,",
    )


def _is_table(file: Peek) -> bool:
    if not file.keys >= _TABLE_KEYS:
        return False
    columns = as_list(inside(file.document, "columns"))
    return any(isinstance(name, str) for name in columns)


def _is_records(file: Peek) -> bool:
    if file.head.lstrip()[:1] != b"[":
        return False
    return any(name.endswith(_SUFFIXES) for name in file.keys)


def _rows(document: object) -> list[Row]:
    if isinstance(document, list):
        return [as_object(item) for item in document]
    columns, data = inside(document, "columns"), as_list(inside(document, "data"))
    names = [name if isinstance(name, str) else str(name)[:100] for name in as_list(columns)]
    if len(set(names)) != len(names):
        raise InputError("has two columns of one name")
    for number, cells in enumerate(data, start=1):
        if len(as_list(cells)) != len(names):
            raise InputError(f"row {number} has not as many cells as there are columns")
    return [dict(zip(names, as_list(cells), strict=True)) for cells in data]


def _plain_name(column: str | None) -> str | None:
    for suffix in _SUFFIXES:
        if column is not None and column.endswith(suffix):
            return column.removesuffix(suffix)
    return column


def _metrics(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Metric -> the columns that have its scores: ``ok``, ``ok/score``, ``ok/value``."""
    found: dict[str, list[str]] = {}
    for column in dict.fromkeys(column for row in rows for column in row):
        values = [value for row in rows if (value := row.get(column)) is not None]
        if values and all(_score(value) is not None for value in values):
            is_named = column.endswith(_SUFFIXES)
            is_flag = all(isinstance(value, bool) for value in values)
            if is_named or is_flag:
                found.setdefault(str(_plain_name(column)), []).append(column)
    return found


def _score(value: object) -> float | None:
    if isinstance(value, bool | int | float):
        return as_score(value)
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None


def _fields(row: Row, scores: set[str]) -> dict[str, object]:
    """Fields that may identify a question."""
    plain = {key: value for key, value in row.items() if key not in scores}
    found = {key: value for key, value in plain.items() if isinstance(value, str | int)}
    for name in ("tags", "request", "inputs"):
        nested = as_object(row.get(name))
        found |= {f"{name}.{k}": v for k, v in nested.items() if isinstance(v, str | int)}
    return {key: value for key, value in found.items() if not key.startswith("tags.mlflow.")}


def _asked(row: Row) -> object:
    asked = {name: row[name] for name in _ASKED if row.get(name) is not None}
    return asked or {key: value for key, value in row.items() if isinstance(value, str)}


def _verdicts(
    rows: Sequence[Row], keys: Sequence[str], columns: Sequence[str], rule: VerdictRule
) -> tuple[list[LoggedVerdict], list[str]]:
    """Verdicts of the first column that has the metric; others only fill in questions.

    Two tables that were logged under one name are joined, and what one lacks is null.
    """
    found: dict[str, list[LoggedVerdict]] = {}
    left_out = 0
    for column in columns:
        mine: dict[str, list[LoggedVerdict]] = {}
        for key, row in zip(keys, rows, strict=True):
            if row.get(column) is not None:
                mine.setdefault(key, []).append(_verdict(key, row, column, rule))
        for key, verdicts in mine.items():
            left_out += len(verdicts) if key in found else 0
            found.setdefault(key, verdicts)
    verdicts = [verdict for group in found.values() for verdict in group]
    verdicts += [
        LoggedVerdict(question=key, outcome=MISSING, reason=_NO_SCORE)
        for key in dict.fromkeys(keys)
        if key not in found
    ]
    notes = []
    if left_out:
        notes.append(
            f"two tables were logged under one name; {left_out} rows of the second, whose "
            "questions the first has, were left out"
        )
    return verdicts, notes


def _verdict(key: str, row: Row, column: str, rule: VerdictRule) -> LoggedVerdict:
    score = _score(row[column])
    if score is None:
        score = float("nan")
    return LoggedVerdict(
        question=key,
        outcome=score_outcome(score, rule.threshold, where=f"question {key!r}"),
        reason=_NO_SCORE,
        started_at=read_time(row.get("request_time")),
        duration_s=as_number(row.get("execution_duration")) / 1000.0,
    )


def _run_id(rows: Sequence[Row], path: Path) -> tuple[str, bool]:
    """Id of MLflow's run as the traces or the folders of artifacts name it, else a hash."""
    named = {as_text(inside(row, "trace_metadata", "mlflow.sourceRun")) for row in rows}
    if len(named) == 1 and "" not in named:
        return plain_text(next(iter(named))), True
    for part in reversed(path.resolve().parts[:-1]):
        if _RUN_ID.fullmatch(part):
            return part, True
    return f"mlflow-{digest(list(rows))}", False


def _common(rows: Sequence[Row], name: str) -> str:
    """Value of a trace's metadata that all rows share."""
    values = {plain_text(_metadata(row).get(name)) for row in rows}
    return next(iter(values)) if len(values) == 1 else ""


def _metadata(row: Row) -> JsonObject:
    return {**as_object(row.get("trace_metadata")), **as_object(row.get("tags"))}


ML_FLOW: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Tables of evaluations."""
