"""What a log of Inspect AI says about one sample, without its transcript."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from jobs.harnesses.json_files import as_list, as_number, as_object, as_text, inside
from jobs.harnesses.question_key import question_key
from jobs.harnesses.times import read_time
from recurring_eval.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Value of one scorer; `reason` says why there is none."""

    value: object
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One execution of a sample.

    Attributes
    ----------
    key : str
        See `question_key`.
    epoch : int
    scores : mapping of str to Score
        By scorer.
    error, limit : str
        Empty if there was none.
    is_invalidated : bool
    started_at, completed_at : datetime or None
    duration_s, cost : float
        NaN where unknown.
    """

    key: str
    epoch: int
    scores: Mapping[str, Score]
    error: str
    limit: str
    is_invalidated: bool
    started_at: datetime | None
    completed_at: datetime | None
    duration_s: float
    cost: float


def read_sample(value: object, *, invalidated: bool = False) -> Sample:
    """Read a summary or a whole sample.

    Parameters
    ----------
    value : object
        JSON of either.
    invalidated : bool
        What is known from elsewhere, for summaries do not tell.

    Raises
    ------
    InputError
        If it has no usable id or epoch.
    """
    if not isinstance(value, dict) or "id" not in value:
        raise InputError("has a sample without an id")
    key = question_key(value["id"])
    epoch = value.get("epoch", 1)
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise InputError(f"has sample {key!r} with the epoch {epoch!r:.40}, which is no number")
    return Sample(
        key=key,
        epoch=epoch,
        scores={name: _score(score) for name, score in as_object(value.get("scores")).items()},
        error=_told(value.get("error"), "message"),
        limit=_told(value.get("limit"), "type"),
        is_invalidated=invalidated or bool(value.get("invalidation")),
        started_at=read_time(value.get("started_at")),
        completed_at=read_time(value.get("completed_at")),
        duration_s=as_number(value.get("total_time")),
        cost=_cost(as_object(value.get("model_usage"))),
    )


def _score(score: object) -> Score:
    reason = inside(score, "reason") or inside(score, "metadata", "reason")
    return Score(value=inside(score, "value"), reason=as_text(reason))


def _told(value: object, key: str) -> str:
    """Text of an error or limit, which summaries give bare and samples inside an object."""
    if isinstance(value, dict):
        return as_text(value.get(key)) or "unknown"
    return as_text(value) or ("unknown" if value else "")


def _cost(usage: Mapping[str, object]) -> float:
    costs = [as_number(inside(use, "total_cost")) for use in usage.values()]
    known = [cost for cost in costs if cost == cost]
    return sum(known) if known else float("nan")


def sample_ids(dataset: object) -> list[str]:
    """Keys of the samples a run selected; empty if the log does not say."""
    return [question_key(item) for item in as_list(inside(dataset, "sample_ids"))]
