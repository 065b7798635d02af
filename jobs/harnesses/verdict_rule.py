"""What makes a question passed where a log leaves it open, and how to ask."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

COUNTS: Final[Mapping[str, int]] = {"pass": PASS, "fail": FAIL, "missing": MISSING}

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRule:
    """Answers to what a log leaves open; None and absent keys are unanswered.

    Attributes
    ----------
    verdict : str or None
        What is judged: a scorer, metric, assertion or reward; ``scorer.key`` inside a dict.
    filter : str or None
        Which of several readings of an answer counts.
    threshold : float or None
        A numeric score of at least this much is a pass.
    question : str or None
        Field that identifies a question, e.g. ``doc.qid`` or ``vars.id``.
    counts : mapping of str to str
        State the tool knows (``limit``, ``empty-patch``) -> pass, fail or missing.
    """

    verdict: str | None = None
    filter: str | None = None
    threshold: float | None = None
    question: str | None = None
    counts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError(f"the threshold {self.threshold} is not a finite number")

    def over(self, other: "VerdictRule") -> "VerdictRule":
        """Fill in from another rule what this one leaves open."""
        simple = {
            name: getattr(other, name) if getattr(self, name) is None else getattr(self, name)
            for name in ("verdict", "filter", "threshold", "question")
        }
        return VerdictRule(**simple, counts={**other.counts, **self.counts})

    @property
    def is_empty(self) -> bool:
        """Whether nothing is answered."""
        return all(getattr(self, f.name) in (None, {}) for f in fields(self))

    def count(self, state: str, default: int) -> int:
        """PASS, FAIL or MISSING for a state of the tool."""
        return COUNTS[self.counts[state]] if state in self.counts else default


def read_counts(texts: Sequence[str]) -> dict[str, str]:
    """Read ``STATE=pass|fail|missing`` as the command line gives it.

    Raises
    ------
    InputError
        If a text has another form.
    """
    counts = {}
    for text in texts:
        state, _, outcome = text.partition("=")
        if not state or outcome not in COUNTS:
            raise InputError(
                f"--count {text!r} is not of the form STATE=pass, STATE=fail or STATE=missing"
            )
        counts[state] = outcome
    return counts


def choose(
    what: str,
    choices: Sequence[str],
    chosen: str | None,
    *,
    option: str = "--verdict",
    task: str | None = None,
) -> str:
    """Return the only choice, or the one the rule names.

    Parameters
    ----------
    what : str
        What there are several of, e.g. ``scorer``.
    choices : sequence of str
        At least one.
    chosen : str or None
        The rule's answer.
    option : str
        Command-line option that answers.
    task : str or None
        Task the question is about, for tools that log several.

    Raises
    ------
    InputError
        Listing the choices, if there are several and none is named, or an unknown one is.
    """
    listed = ", ".join(choices[:_SHOWN]) + (", ..." if len(choices) > _SHOWN else "")
    if chosen is None:
        if len(choices) == 1:
            return choices[0]
        raise InputError(
            f"has several {what}s: {listed}; name the one that decides with {option} "
            f"{'' if task is None else f'{task}='}NAME (it is remembered for the benchmark)"
        )
    if chosen in choices:
        return chosen
    near = difflib.get_close_matches(chosen, choices, n=1)
    advice = f"; is {near[0]!r} meant?" if near else ""
    if not near and task is not None:
        advice = f"; {option} TASK=NAME is about one task alone"
    raise InputError(f"has no {what} {chosen!r} ({option}); it has: {listed}{advice}")


def score_outcome(value: float, threshold: float | None, *, where: str) -> int:
    """PASS or FAIL of a numeric score; without a threshold only 0 and 1 are verdicts.

    NaN is MISSING.

    Raises
    ------
    InputError
        If the score is neither 0 nor 1 and no threshold is known.
    """
    if value != value:
        return MISSING
    if threshold is not None:
        return PASS if value >= threshold else FAIL
    if value in (0, 1):
        return PASS if value else FAIL
    raise InputError(
        f"{where} has the score {value:g}, neither 0 nor 1; say from which score on it is a pass"
        " with --threshold T (it is remembered for the benchmark)"
    )


def read_rules(
    *,
    verdict: Sequence[str],
    filter_: Sequence[str],
    threshold: Sequence[str],
    question: Sequence[str],
    counts: Sequence[str],
) -> tuple[VerdictRule, dict[str, VerdictRule]]:
    """Read what the command line answers, for every task or as ``TASK=ANSWER`` for one.

    Returns
    -------
    given : VerdictRule
    by_task : dict of str to VerdictRule

    Raises
    ------
    InputError
        If an answer is given twice or is no number where one is needed.
    """
    found: dict[str, dict[str, str]] = {"": {}}
    options = {"verdict": verdict, "filter": filter_, "threshold": threshold, "question": question}
    for name, texts in options.items():
        for text in texts:
            task, equals, answer = text.rpartition("=")
            if equals and not task:
                raise InputError(f"--{name} {text!r} names no task before `=`")
            if found.setdefault(task, {}).setdefault(name, answer) != answer:
                raise InputError(
                    f"--{name} is given twice{f' for task {task!r}' if task else ''}; give it once"
                )
    rules = {task: _rule(answers) for task, answers in found.items()}
    plain = VerdictRule(counts=read_counts(counts)).over(rules.pop(""))
    return plain, rules


def _rule(answers: Mapping[str, str]) -> VerdictRule:
    threshold = answers.get("threshold")
    try:
        number = None if threshold is None else float(threshold)
    except ValueError:
        raise InputError(f"--threshold {threshold!r} is not a number") from None
    return VerdictRule(
        verdict=answers.get("verdict"),
        filter=answers.get("filter"),
        threshold=number,
        question=answers.get("question"),
    )
