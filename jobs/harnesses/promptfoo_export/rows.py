"""One row of an evaluation by promptfoo, whatever file it came in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobs.harnesses.json_files import JsonObject, as_number, as_object, as_text, inside
from jobs.harnesses.plain_text import is_timeout, plain_text
from jobs.harnesses.run_builder import ERROR, TIMEOUT, missing_reason
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

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
        What tells tests apart where nothing names them: the vars, or the description.
    outcome : int
    reason : str
        Of a missing verdict.
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
    outcome, reason = (PASS if success else FAIL), ""
    # `error` is filled in for failed assertions too, so only the code tells of errors.
    if entry.get("failureReason") == _ERROR:
        message = as_text(entry.get("error"))
        kind = TIMEOUT if is_timeout(message) else ERROR
        outcome, reason = MISSING, missing_reason(kind, message)
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
        outcome=outcome,
        reason=reason,
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
