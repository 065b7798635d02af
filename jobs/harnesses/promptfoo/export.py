"""Exports of promptfoo in their five forms, as rows of answers."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import (
    JsonObject,
    as_number,
    as_object,
    as_text,
    decoded,
    inside,
    json_lines,
    parse_json,
    read_json,
    read_whole,
)
from jobs.harnesses.junit_xml import read_junit, root_of
from jobs.harnesses.log_files import Peek
from jobs.harnesses.log_values import plain_text, read_time
from jobs.harnesses.run_builder import ERROR, error_reason
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_MOST_BYTES: Final = 64 << 20
_DEEPEST: Final = 200


def read_yaml(path: Path) -> object:
    """Read a YAML document of plain values; anchors are shared, never copied.

    Raises
    ------
    InputError
        If it is too large, too deep, cut short or no YAML.
    """
    import yaml  # slow to load, and few files are YAML

    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise InputError(f"is {size >> 20:,} MB of YAML, too large; export JSON")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = decoded(path.read_bytes())
        _refuse_depth(content, loader)
        document: object = yaml.load(content, Loader=loader)  # noqa: S506  # a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": line {mark.line + 1}" if mark is not None else ""
        what = str(getattr(error, "problem", "") or "unreadable")[:80]
        raise InputError(f"is no YAML{where}: {what}") from None
    except (RecursionError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"is no usable YAML: {str(error)[:80]}") from None
    return document


def _refuse_depth(content: str, loader: type) -> None:
    """Refuse what would exhaust the stack; the events come without recursion."""
    import yaml  # see above

    depth = 0
    for event in yaml.parse(content, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise InputError("is YAML nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


DESCRIPTION: Final = "description"

_ERROR: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Answer of one column (a provider with a prompt) to one test.

    Attributes
    ----------
    column : int
        From 0.
    provider, prompt : str
        The prompt by its hash where there is one, else its label.
    fields : mapping of str to object
        ``description``, ``vars.NAME`` and ``metadata.NAME`` of the test.
    content : object
        What distinguishes tests where nothing names them: the vars, or the description.
    outcome : int
    reason : str
        Why the verdict is missing, if it is.
    scores : mapping of str to float
        By the `metric` of assertions.
    uid : str
    duration_s, cost : float
    """

    column: int
    provider: str
    prompt: str = ""
    fields: Mapping[str, object]
    content: object
    outcome: int
    reason: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    uid: str = ""
    duration_s: float = float("nan")
    cost: float = float("nan")


def row_of_result(result: object, *, number: int) -> Row:
    """Row of an entry of ``results.results``.

    Raises
    ------
    InputError
        If it has no verdict.
    """
    entry = as_object(result)
    success = entry.get("success")
    if not isinstance(success, bool):
        raise InputError(f"result {number} has no `success`; it is no row of promptfoo")
    # `error` is filled in for failed assertions too, so only the code tells errors apart.
    is_error = entry.get("failureReason") == _ERROR
    test = as_object(entry.get("testCase"))
    variables = as_object(entry.get("vars")) or as_object(test.get("vars"))
    metadata = as_object(test.get("metadata")) or as_object(entry.get("metadata"))
    description = as_text(test.get("description")) or as_text(entry.get("description"))
    column = entry.get("promptIdx")
    scores = {
        str(key): as_number(value) for key, value in as_object(entry.get("namedScores")).items()
    }
    provider = as_object(entry.get("provider"))
    cost = as_number(entry.get("cost"))
    return Row(
        column=column if isinstance(column, int) and 0 <= column < 1000 else 0,
        provider=plain_text(provider.get("label")) or plain_text(provider.get("id")),
        prompt=plain_text(entry.get("promptId"))[:12],
        fields=fields_of(description, variables, metadata),
        content=variables if variables or not description else description,
        outcome=MISSING if is_error else PASS if success else FAIL,
        reason=error_reason(as_text(entry.get("error"))),
        scores=scores,
        uid=plain_text(entry.get("id")),
        duration_s=as_number(entry.get("latencyMs")) / 1000.0,
        cost=cost if cost == cost else as_number(inside(entry, "response", "cost")),
    )


def fields_of(description: str, variables: JsonObject, metadata: JsonObject) -> dict[str, object]:
    """Fields that may identify a test."""
    found: dict[str, object] = {DESCRIPTION: description} if description else {}
    found |= {f"vars.{key}": value for key, value in variables.items()}
    return found | {
        f"metadata.{key}": value for key, value in metadata.items() if not key.startswith("_")
    }


_ROW_KEYS: Final = frozenset(("testIdx", "promptIdx", "success"))
_CSV_HEADER: Final = re.compile(rb",\"?Status\"?,\"?Score\"?,\"?Named Scores\"?")
_YAML_HEAD: Final = re.compile(rb"^evalId:.*$", re.MULTILINE)
_PROVIDER: Final = re.compile(r"\[(.+?)\] (.*)", re.DOTALL)
_TEST_NAME: Final = re.compile(r"test ([0-9]{1,9})(?:: (.*))?", re.DOTALL)
_LONGEST_CELL: Final = 1 << 26
_OUTCOMES: Final = {"PASS": PASS, "FAIL": FAIL, "ERROR": MISSING}


class Form(Enum):
    """Forms of an export, the most telling first."""

    JSON = ".json"
    YAML = ".yaml"
    JSONL = ".jsonl"
    CSV = ".csv"
    JUNIT = ".junit.xml"


FORMS: Final = tuple(Form)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An evaluation as found in one file; absent facts are empty."""

    rows: Sequence[Row]
    eval_id: str = ""
    started_at: datetime | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


def form_of(file: Peek) -> Form | None:
    """Form of an export, by its content."""
    if file.keys >= {"evalId", "results"} or file.keys >= {"results", "config", "shareableUrl"}:
        return Form.JSON
    if file.keys >= _ROW_KEYS:
        return Form.JSONL
    root = root_of(file.head)
    if root is not None:
        return Form.JUNIT if 'name="promptfoo"' in root[1] else None
    if _CSV_HEADER.search(file.head.split(b"\n", 1)[0]):
        return Form.CSV
    is_yaml = file.path.suffix in (".yaml", ".yml") and _YAML_HEAD.search(file.head)
    return Form.YAML if is_yaml else None


def read_export(path: Path, form: Form) -> Export:
    """Read a file.

    Raises
    ------
    InputError
        Saying what is wrong.
    """
    readers: Mapping[Form, Callable[[Path], Export]] = {
        Form.JSON: lambda path: _of_document(read_json(path)),
        Form.YAML: lambda path: _of_document(read_yaml(path)),
        Form.JSONL: _of_lines,
        Form.CSV: _of_csv,
        Form.JUNIT: _of_junit,
    }
    return readers[form](path)


def _of_document(document: object) -> Export:
    results = inside(document, "results", "results")
    if not isinstance(results, list):
        raise InputError("has no list results.results; promptfoo writes it with -o FILE.json")
    config = as_object(inside(document, "config"))
    started = inside(document, "results", "timestamp")
    return Export(
        rows=[row_of_result(entry, number=i) for i, entry in enumerate(results, start=1)],
        eval_id=plain_text(inside(document, "evalId")),
        started_at=read_time(started)
        or read_time(inside(document, "metadata", "evaluationCreatedAt")),
        tags={
            plain_text(key): plain_text(value)
            for key, value in as_object(config.get("tags")).items()
        },
        description=plain_text(config.get("description")),
    )


def _of_lines(path: Path) -> Export:
    rows = [row_of_result(entry, number=number) for number, entry in json_lines(path)]
    return Export(rows=rows)


def _of_junit(path: Path) -> Export:
    rows: list[Row] = []
    columns: dict[str, int] = {}
    stamps: list[datetime] = []
    for case in read_junit(path):
        stamp = read_time(case.suite.timestamp)
        stamps += [stamp] if stamp else []
        column = columns.setdefault(case.suite.name, len(columns))
        match = _TEST_NAME.fullmatch(case.name)
        if match is None:
            raise InputError(f"has a test case {case.name[:40]!r}, which promptfoo does not write")
        kinds = {kind for kind, _, _ in case.problems}
        outcome = MISSING if kinds - {"failure"} else FAIL if kinds else PASS
        named = _PROVIDER.fullmatch(case.suite.name)
        description = match[2] or ""
        rows.append(
            Row(
                column=column,
                provider=plain_text(named[1]) if named else plain_text(case.suite.name),
                fields=fields_of(description, {}, {}),
                content=description or f"test {match[1]}",
                outcome=outcome,
                reason=ERROR,
                duration_s=case.seconds,
            )
        )
    return Export(rows=rows, started_at=min(stamps, default=None))


def _of_csv(path: Path) -> Export:
    csv.field_size_limit(_LONGEST_CELL)
    try:
        text = io.StringIO(decoded(read_whole(path)), newline="")
        lines = list(csv.reader(text, strict=True))
    except csv.Error as error:
        raise InputError(f"is cut short or no CSV: {error}") from None
    header = lines[0] if lines else []
    verdicts = [i for i, name in enumerate(header) if name == "Status" and i > 0]
    if not verdicts:
        raise InputError("has no column `Status`")
    names = header[: verdicts[0] - 1]
    ends = [*(at - 1 for at in verdicts[1:]), len(header)]
    rows = []
    for number, cells in enumerate(lines[1:], start=2):
        if len(cells) != len(header):
            raise InputError(
                f"row {number} has {len(cells)} cells, not {len(header)}; is it cut short?"
            )
        told = dict(zip(names, cells, strict=False))
        description = told.pop("Description", "") if names[:1] == ["Description"] else ""
        for column, (at, end) in enumerate(zip(verdicts, ends, strict=True)):
            if not cells[at] and not cells[at - 1]:
                continue
            if cells[at] not in _OUTCOMES:
                raise InputError(f"row {number} has the status {cells[at][:40]!r}")
            outcome = _OUTCOMES[cells[at]]
            named = _PROVIDER.fullmatch(header[at - 1])
            scores = [j for j in range(at, end) if header[j] == "Named Scores" and cells[j]]
            found = as_object(parse_json(cells[scores[0]].encode())) if scores else {}
            rows.append(
                Row(
                    column=column,
                    provider=plain_text(named[1] if named else header[at - 1]),
                    prompt=plain_text(named[2] if named else "", longest=60),
                    fields=fields_of(description, told, {}),
                    content=told or description,
                    outcome=outcome,
                    reason=ERROR,
                    scores={key: as_number(value) for key, value in found.items()},
                )
            )
    return Export(rows=rows)
