"""Rows of ``samples_<task>_<time>.jsonl``, without prompts and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import as_list, as_text, inside, json_lines
from jobs.harnesses.question_key import check_id, question_key
from recurring_eval.errors import InputError

NO_FILTER: Final = "none"
DOC_HASH: Final = "doc_hash"

_NO_METRICS: Final = frozenset(
    [
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    ]
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


def filters_of(rows: Sequence[SampleRow]) -> list[str]:
    """List filters in the order of the log."""
    return list(dict.fromkeys(row.filter for row in rows))


def metrics_of(rows: Sequence[SampleRow]) -> list[str]:
    """List metrics in the order of the log."""
    return list(dict.fromkeys(name for row in rows for name in row.metrics))
