"""Langfuse: a dataset's run with its items, joined with the scores of their traces."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import (
    JsonObject,
    as_list,
    as_object,
    as_score,
    as_text,
    inside,
    read_json,
)
from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.log_values import plain_text, question_key, read_time, settings_text
from jobs.harnesses.run_builder import ERROR, LoggedVerdict, build_run, missing_reason
from jobs.harnesses.selection import Selection, SelectionContext, filtered_dataset, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog

_NAME: Final = "langfuse"
_ITEM_KEYS: Final = frozenset(("datasetItemId", "traceId"))
_SCORE_KEYS: Final = frozenset(("traceId", "name", "value"))
_RUN_KEY: Final = "datasetRunItems"
_SCORES: Final = "scores"
_WORDS: Final = dict.fromkeys(("true", "correct", "pass", "yes"), PASS) | dict.fromkeys(
    ("false", "incorrect", "fail", "no"), FAIL
)


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim runs of datasets with the scores in the same folder."""
    runs = [file for file in files if _is_run(file)]
    scores = [file.path for file in files if file not in runs and _is_scores(file)]
    for file in runs:
        near = [path for path in scores if path.parent == file.path.parent]
        yield LogUnit(path=file.path, files=(file.path, *near))
    if not runs:
        for path in scores:
            yield LogUnit(path=path, files=(path,))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read the items of a run and the scores of their traces."""
    content = read_json(unit.path)
    document = as_object(content) or {"data": content}
    items = [as_object(item) for item in _items(document)]
    if not items or not all(item.keys() >= _ITEM_KEYS for item in items):
        raise InputError(
            "holds scores alone; save the dataset's run (datasetRunItems) in the same folder"
        )
    beside = unit.files[1:] or _scores_near(unit.path)
    scores = [as_object(score) for score in as_list(document.get(_SCORES))]
    for path in beside:
        scores += [as_object(score) for score in _data(read_json(path))]
    if not scores:
        raise InputError("has no scores beside it; save those of its traces in the same folder")
    groups: dict[str, list[JsonObject]] = {}
    for item in items:
        name = as_text(item.get("datasetRunName")) or as_text(document.get("name"))
        groups.setdefault(name, []).append(item)
    runs = tuple(_run(name, members, scores, document, options) for name, members in groups.items())
    return LogFile(runs=runs, has_tasks=True)


def _run(
    name: str,
    items: Sequence[JsonObject],
    scores: Sequence[JsonObject],
    document: JsonObject,
    options: ReadOptions,
) -> RunLog:
    task = plain_text(document.get("datasetName")) or None
    rule = options.rule(_NAME, task)
    by_trace: dict[str, dict[str, JsonObject]] = {}
    # The newest score of a name counts.
    for score in sorted(scores, key=lambda score: as_text(score.get("timestamp"))):
        by_trace.setdefault(as_text(score.get("traceId")), {})[as_text(score.get("name"))] = score
    mine = [by_trace.get(as_text(item.get("traceId")), {}) for item in items]
    names = [score for score in dict.fromkeys(n for told in mine for n in told) if score]
    if not names:
        raise InputError(f"run {name!r} has no scores beside it")
    chosen = choose("score", names, rule.verdict, task=task)
    metadata = as_object(document.get("metadata"))
    return build_run(
        [_verdict(i, told.get(chosen), rule) for i, told in zip(items, mine, strict=True)],
        run_key=plain_text(name) or plain_text(items[0].get("datasetRunId")),
        task=task,
        agent=options.agent or plain_text(metadata.get("agent")),
        harness=_NAME,
        started_at=read_time(document.get("createdAt")),
        agent_config=settings_text(
            agent_version=metadata.get("agent_version"), model=metadata.get("model")
        ),
        subset_id=subset_marked([name, *metadata.values()]),
    )


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the ids for a filter of the dataset's items."""
    return filtered_dataset(
        ids,
        context,
        tool="Langfuse",
        program=("python", "EXPERIMENT.py"),
        field="dataset item id",
        name="the name of the dataset's run",
    )


def _is_run(file: Peek) -> bool:
    return _RUN_KEY in file.keys or _is_list_of(file, _ITEM_KEYS)


def _is_scores(file: Peek) -> bool:
    return file.path.suffix == ".json" and _is_list_of(file, _SCORE_KEYS)


def _is_list_of(file: Peek, keys: frozenset[str]) -> bool:
    """Whether a file is a list of objects with these keys, bare or under ``data``."""
    data = as_list(as_object(file.document).get("data")) if "data" in file.keys else ()
    return file.keys >= keys or (bool(data) and as_object(data[0]).keys() >= keys)


def _scores_near(path: Path) -> list[Path]:
    near = [file for file in sorted(path.parent.glob("*.json")) if file != path]
    return [file for file in near if _is_scores(Peek(file))]


def _data(document: object) -> Sequence[object]:
    return as_list(inside(document, "data") if isinstance(document, dict) else document)


def _items(document: JsonObject) -> Sequence[object]:
    return as_list(document.get(_RUN_KEY)) or as_list(document.get("data"))


def _verdict(item: JsonObject, score: JsonObject | None, rule: VerdictRule) -> LoggedVerdict:
    key = question_key(item.get("datasetItemId"), typed=False)
    value = None if score is None else score.get("value")
    words = "" if score is None else as_text(score.get("stringValue")) or as_text(value)
    kind = "" if score is None else as_text(score.get("dataType"))
    if words and kind in ("CATEGORICAL", "") and not isinstance(value, bool):
        outcome = _of_word(words.strip().lower(), rule, key)
    else:
        outcome = score_outcome(as_score(value), rule.threshold, where=f"item {key!r}")
    return LoggedVerdict(
        question=key,
        outcome=outcome,
        reason=missing_reason(ERROR, "no score"),
        started_at=read_time(item.get("createdAt")),
    )


def _of_word(word: str, rule: VerdictRule, key: str) -> int:
    if word in rule.counts:
        return rule.count(word, MISSING)
    if word in _WORDS:
        return _WORDS[word]
    raise InputError(
        f"item {key!r} has the category {word[:40]!r}; say what it is with --count "
        f"{word[:40]}=pass (or fail, missing; it is remembered)"
    )


LANGFUSE: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""What the public API returns, saved as JSON."""
