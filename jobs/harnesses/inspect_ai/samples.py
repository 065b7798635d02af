"""Samples of a log of Inspect AI, without their transcripts, and their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jobs.harnesses.json_files import JsonObject, as_list, as_number, as_object, as_text, inside
from jobs.harnesses.log_values import question_key, read_time
from jobs.harnesses.run_builder import (
    ERROR,
    INVALIDATED,
    NOT_RUN,
    SKIPPED,
    TIMEOUT,
    LoggedVerdict,
    missing_reason,
)
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING


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
        What is known from elsewhere, for summaries lack it.

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


LIMIT: Final = "limit"
SCORED_ERROR: Final = "scored-error"
PARTIAL_CREDIT: Final = 0.5

_LETTERS: Final = {"C": 1.0, "I": 0.0, "N": 0.0, "P": PARTIAL_CREDIT}
_WORDS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_CANCELLED: Final = "CancelledError("


def choose_scorer(
    header: JsonObject, samples: Sequence[Sample], rule: VerdictRule
) -> tuple[str | None, str | None]:
    """Find the scorer that decides: named by the rule, the log's headline, or the only verdict.

    A scorer that gives several values is named ``scorer.key``.

    Returns
    -------
    scorer : str or None
        None if nothing was scored.
    note : str or None
        Why this one, where the log has several.

    Raises
    ------
    InputError
        Listing the choices, if they are several.
    """
    choices = _choices(header, samples)
    if not choices:
        return rule.verdict, None
    headline = inside(header, "results", "headline")
    score, part = as_text(inside(headline, "score")), as_text(inside(headline, "scorer"))
    if rule.verdict is None and len(choices) > 1:
        for name in (score, f"{part}.{score}"):
            if name in choices:
                return name, f"verdicts are those of scorer {name!r}, the log's headline"
        verdicts = [name for name in choices if _gives_verdicts(name, samples)]
        if len(verdicts) == 1:
            (name,) = verdicts
            others = ", ".join(other for other in choices if other != name)
            return name, f"verdicts are those of scorer {name!r}; the others are numbers: {others}"
    return choose("scorer", choices, rule.verdict), None


def judge(
    sample: Sample, scorer: str | None, rule: VerdictRule, *, was_stopped: bool
) -> LoggedVerdict:
    """Verdict of a sample.

    Parameters
    ----------
    sample : Sample
    scorer : str or None
    rule : VerdictRule
    was_stopped : bool
        Whether the run ended before its time, so that a cancelled sample is not to blame.

    Raises
    ------
    InputError
        If the scorer's value is no verdict.
    """
    outcome, reason = _outcome(sample, scorer, rule, was_stopped=was_stopped)
    return LoggedVerdict(
        question=sample.key,
        outcome=outcome,
        reason=reason,
        trial=sample.epoch,
        started_at=sample.started_at,
        finished_at=sample.completed_at,
        duration_s=sample.duration_s,
        cost=sample.cost,
    )


def _outcome(
    sample: Sample, scorer: str | None, rule: VerdictRule, *, was_stopped: bool
) -> tuple[int, str]:
    if sample.is_invalidated:
        return MISSING, INVALIDATED
    if sample.error:
        if was_stopped and sample.error.startswith(_CANCELLED):
            return MISSING, NOT_RUN
        outcome = rule.count(SCORED_ERROR, MISSING) if sample.scores else MISSING
        return outcome, missing_reason(ERROR, sample.error)
    if sample.limit and LIMIT in rule.counts:
        return rule.count(LIMIT, MISSING), missing_reason(TIMEOUT, f"{sample.limit} limit")
    if scorer is None or not sample.scores:
        return MISSING, missing_reason(SKIPPED, "not scored")
    score = _value(sample, scorer)
    if score.value is None or score.value != score.value:
        return MISSING, missing_reason(ERROR, score.reason or "no score")
    number = _number(score.value, f"scorer {scorer!r} of sample {sample.key!r}")
    if number == PARTIAL_CREDIT and score.value == "P" and rule.threshold is None:
        return FAIL, ""
    outcome = score_outcome(number, rule.threshold, where=f"sample {sample.key!r}")
    return outcome, missing_reason(ERROR, "no score")


def _value(sample: Sample, scorer: str) -> Score:
    """Score under a name, or the part of one under ``scorer.key``."""
    if scorer in sample.scores:
        found = sample.scores[scorer]
        if isinstance(found.value, dict | list):
            raise InputError(
                f"scorer {scorer!r} gives several values; name one with --verdict {scorer}.KEY"
            )
        return found
    for name, score in sample.scores.items():
        if scorer.startswith(f"{name}."):
            return Score(
                value=_parts(score.value).get(scorer[len(name) + 1 :]), reason=score.reason
            )
    return Score(value=None, reason="")


def _parts(value: object) -> dict[str, object]:
    if isinstance(value, dict):
        return value
    return {str(i): item for i, item in enumerate(as_list(value))}


def _number(value: object, where: str) -> float:
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            raise InputError(f"{where} is a number too large to be a score") from None
    if isinstance(value, str):
        text = value.strip()
        if text in _LETTERS:
            return _LETTERS[text]
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        try:
            return float(text)
        except ValueError:
            pass
    raise InputError(
        f"{where} is {value!r:.60}, which is neither C, I, N, P, yes, no nor a number; "
        "name another with --verdict"
    )


def _choices(header: JsonObject, samples: Sequence[Sample]) -> list[str]:
    """Scorers in the order of the header, those with several values by key."""
    declared = [
        as_text(inside(item, "name")) for item in as_list(inside(header, "eval", "scorers"))
    ]
    names = dict.fromkeys(name for sample in samples for name in sample.scores)
    ordered = [name for name in declared if name in names]
    ordered += [name for name in names if name not in ordered]
    choices: dict[str, None] = {}
    for name in ordered:
        values = [sample.scores[name].value for sample in samples if name in sample.scores]
        parts = dict.fromkeys(
            f"{name}.{key}"
            for value in values
            if isinstance(value, dict | list)
            for key in _parts(value)
        )
        choices.update(parts or {name: None})
    return list(choices)


def _gives_verdicts(name: str, samples: Sequence[Sample]) -> bool:
    """Whether all values of a scorer are letters, words or truth values."""
    values = [_value(sample, name).value for sample in samples if sample.scores]
    known = [value for value in values if value is not None and value == value]
    return bool(known) and all(
        isinstance(value, bool)
        or (isinstance(value, str) and (value in _LETTERS or value.lower() in _WORDS))
        for value in known
    )
