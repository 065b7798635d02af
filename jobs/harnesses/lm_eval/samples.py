"""Rows of ``samples_<task>_<time>.jsonl``, without prompts and answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import as_list, as_score, as_text, inside, json_lines
from jobs.harnesses.log_values import check_id, question_key
from jobs.harnesses.run_builder import SKIPPED, LoggedVerdict, missing_reason
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

NO_FILTER: Final = "none"
DOC_HASH: Final = "doc_hash"

_NO_METRICS: Final = frozenset(
    (
        *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
        *("doc_hash", "prompt_hash", "target_hash"),
    )
)
_MOST_FIELDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRow:
    """One document under one filter.

    Attributes
    ----------
    key : str
    doc_id : int or None
        Position in the split, as labelled.
    filter : str
    metrics : mapping of str to object
        Values by metric, in the order of the log.
    """

    key: str
    doc_id: int | None
    filter: str
    metrics: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRows:
    """Rows of one file.

    Attributes
    ----------
    rows : tuple of SampleRow
    id_fields : tuple of str
        Fields of the documents whose values are all different, for a note.
    """

    rows: tuple[SampleRow, ...]
    id_fields: tuple[str, ...]

    @property
    def in_order(self) -> bool:
        """Whether the positions can be trusted.

        lm-eval walks the documents in the order of the split, but labels them in the
        order of the selection, so only ascending positions are the documents' own.
        """
        by_filter: dict[str, list[int]] = {}
        for row in self.rows:
            if row.doc_id is None:
                return False
            by_filter.setdefault(row.filter, []).append(row.doc_id)
        return all(ids == sorted(ids) for ids in by_filter.values())


def read_rows(path: Path, question: str | None) -> SampleRows:
    """Read a file row by row.

    Parameters
    ----------
    path : Path
    question : str or None
        Field of the document that identifies it, with or without ``doc.`` before it; by
        default the hash of its content.

    Raises
    ------
    InputError
        Naming the line.
    """
    rows = []
    values: dict[str, set[object]] = {}
    n_docs = 0
    for number, row in json_lines(path):
        if not isinstance(row, dict) or "doc_id" not in row:
            raise InputError(f"line {number} is no sample of lm-eval: it has no doc_id")
        try:
            rows.append(_row(row, question))
        except InputError as error:
            raise InputError(f"line {number}: {error}") from None
        if rows[-1].filter == rows[0].filter:
            n_docs += 1
            _note_fields(values, row.get("doc"), n_docs)
    if not rows:
        raise InputError("has no rows")
    fields = [name for name, found in values.items() if len(found) == n_docs]
    return SampleRows(rows=tuple(rows), id_fields=tuple(fields[:_MOST_FIELDS]))


def _row(row: Mapping[str, object], question: str | None) -> SampleRow:
    doc_id = row["doc_id"]
    named = [name for name in as_list(row.get("metrics")) if isinstance(name, str)]
    metrics = named or [name for name in row if name not in _NO_METRICS]
    return SampleRow(
        key=_key(row, question),
        doc_id=doc_id if isinstance(doc_id, int) and not isinstance(doc_id, bool) else None,
        filter=as_text(row.get("filter")) or NO_FILTER,
        metrics={name: row.get(name) for name in metrics},
    )


def _key(row: Mapping[str, object], question: str | None) -> str:
    if question is None or question == DOC_HASH:
        found = as_text(row.get(DOC_HASH))
        if not found:
            raise InputError(
                "has no doc_hash; name the field of doc that identifies it: --question"
            )
        check_id(found)
        return found
    value = inside(row.get("doc"), *question.removeprefix("doc.").split("."))
    if value is None:
        raise InputError(f"the document has no field {question!r} (--question)")
    return question_key(value)


def _note_fields(values: dict[str, set[object]], doc: object, n_docs: int) -> None:
    """Keep the short fields whose values have all been different so far."""
    fields = doc if isinstance(doc, dict) else {}
    if n_docs == 1:
        values.update((name, set()) for name in fields if isinstance(name, str))
    for name in list(values):
        value = fields.get(name)
        is_id = isinstance(value, str | int) and not isinstance(value, bool)
        if not is_id or value in values[name] or len(str(value)[:101]) > 100:
            del values[name]
        else:
            values[name].add(value)


def _metrics_of(rows: Sequence[SampleRow]) -> list[str]:
    """List metrics in the order of the log."""
    return list(dict.fromkeys(name for row in rows for name in row.metrics))


def judge_rows(
    task: str,
    rows: Sequence[SampleRow],
    rule: VerdictRule,
    higher_is_better: Mapping[str, object],
) -> tuple[list[LoggedVerdict], list[str]]:
    """Verdicts of the documents, one per document whatever the number of filters.

    Where several filters or metrics give the same verdict on every document, it does
    not matter which decides, and nothing is asked.

    Raises
    ------
    InputError
        Listing the choices where they matter, or naming a document whose metric is no verdict.
    """
    notes: list[str] = []

    def outcomes(chosen: Sequence[SampleRow], metric: str) -> list[int]:
        lower = higher_is_better.get(metric) is False
        return [_outcome(row, metric, rule, lower_is_better=lower) for row in chosen]

    def all_metrics(name: str) -> list[list[int]]:
        chosen = [row for row in rows if row.filter == name]
        metrics = _metrics_of(chosen) if rule.verdict is None else [rule.verdict]
        return [outcomes(chosen, metric) for metric in metrics]

    filters = list(dict.fromkeys(row.filter for row in rows))
    name = _decide(task, "filter", filters, rule.filter, all_metrics, notes)
    chosen = [row for row in rows if row.filter == name]
    metrics = _metrics_of(chosen)
    if not metrics:
        raise InputError("has no metric; run lm-eval without --predict_only")
    metric = _decide(task, "metric", metrics, rule.verdict, lambda m: outcomes(chosen, m), notes)
    verdicts = [
        LoggedVerdict(
            question=row.key,
            outcome=outcome,
            reason=missing_reason(SKIPPED, "not scored"),
        )
        for row, outcome in zip(chosen, outcomes(chosen, metric), strict=True)
    ]
    return verdicts, notes


def _decide(
    task: str,
    what: str,
    choices: Sequence[str],
    named: str | None,
    outcomes: Callable[[str], object],
    notes: list[str],
) -> str:
    if named is None and len(choices) > 1:
        try:
            found = [outcomes(choice) for choice in choices]
        except InputError:
            found = []
        if found and all(other == found[0] for other in found):
            notes.append(f"{what}s {', '.join(choices)} give the same verdicts on every question")
            return choices[0]
    option = "--filter" if what == "filter" else "--verdict"
    return choose(what, choices, named, option=option, task=task)


def _outcome(row: SampleRow, metric: str, rule: VerdictRule, *, lower_is_better: bool) -> int:
    if metric not in row.metrics:
        raise InputError(f"document {row.doc_id} has no metric {metric!r}")
    value = row.metrics[metric]
    if value is None:
        return MISSING
    number = as_score(value)
    if number != number and not isinstance(value, float):
        raise InputError(
            f"metric {metric!r} of document {row.doc_id} is {value!r:.40}, no verdict on it; "
            "name another with --verdict"
        )
    if not lower_is_better:
        return score_outcome(number, rule.threshold, where=f"document {row.doc_id}, {metric},")
    if number != number:
        return MISSING
    if rule.threshold is None:
        raise InputError(
            f"metric {metric!r} is better when lower; say up to which value it is a pass with"
            " --threshold T, or name another with --verdict"
        )
    return PASS if number <= rule.threshold else FAIL
