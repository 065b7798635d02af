"""Verdicts that an adaptive session is told, from the words of the command line."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jobs.harnesses.run_builder import ERROR, INVALIDATED, NOT_RUN, SKIPPED, TIMEOUT, missing_reason
from recurring_eval.errors import InputError
from storage.adaptive_sessions import SessionStep

FORMS: Final = "pass, fail, missing, missing:REASON or PASSES/TRIALS, e.g. q17=pass"
MOST_TRIALS: Final = 30_000

_KINDS: Final = (ERROR, TIMEOUT, SKIPPED, NOT_RUN, INVALIDATED)
_VERDICT: Final = re.compile(
    r"(?P<word>pass|fail)|missing(?::(?P<reason>.*))?|(?P<passes>\d{1,9})/(?P<trials>\d{1,9})",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is told about one question.

    Attributes
    ----------
    question : str
    passes, trials : int
        Without trials the verdict is missing.
    reason : str or None
        Why it is missing: one of the five kinds, alone or followed by a colon and details.
    """

    question: str
    passes: int
    trials: int
    reason: str | None = None

    def __str__(self) -> str:
        if not self.trials:
            return f"missing ({self.reason})"
        if self.trials == 1:
            return "pass" if self.passes else "fail"
        return f"{self.passes} of {self.trials} passed"

    def as_step(self, told_at: datetime) -> SessionStep:
        """Build the step of a session that was told this."""
        return SessionStep(
            question_id=self.question,
            passes=self.passes,
            trials=self.trials,
            reason=self.reason,
            told_at=told_at,
        )


def parse_answers(texts: Iterable[str]) -> list[Answer]:
    """Read ``QUESTION=VERDICT`` texts, in their order.

    Raises
    ------
    InputError
        Naming the first text that cannot be read.
    """
    return [_parse(text) for text in texts]


def answer_of_step(step: SessionStep) -> Answer:
    """Read a stored step as what was told."""
    return Answer(
        question=step.question_id, passes=step.passes, trials=step.trials, reason=step.reason
    )


def new_answers(
    answers: Iterable[Answer], steps: Sequence[SessionStep], known: Iterable[str], where: str
) -> list[Answer]:
    """Answers that a session was not told before, each question once.

    Of a missing verdict only that it is missing must agree, not its reason.

    Parameters
    ----------
    answers : iterable of Answer
    steps : sequence of SessionStep
        What the session was told already.
    known : iterable of str
        Questions of its bank.
    where : str
        The session, for messages.

    Raises
    ------
    InputError
        Listing the questions nobody knows, or those whose verdict differs from one told before.
    """
    given = list(answers)
    bank = set(known)
    unknown = [answer.question for answer in given if answer.question not in bank]
    if unknown:
        raise InputError(
            f"not in the bank of {where}: {_listed([repr(q) for q in dict.fromkeys(unknown)])}; "
            "nothing was stored, correct or leave out what it does not know"
        )
    told = {step.question_id: answer_of_step(step) for step in steps}
    before = dict(told)
    differing: dict[str, str] = {}
    for answer in given:
        first = told.setdefault(answer.question, answer)
        if (first.passes, first.trials) != (answer.passes, answer.trials):
            differing[answer.question] = f"{answer.question!r} was {first} and is now {answer}"
    if differing:
        raise InputError(
            f"{_listed(list(differing.values()))}; {where} keeps what it was told first, and "
            "nothing was stored: leave them out"
        )
    return [answer for question, answer in told.items() if question not in before]


def reason_of(text: str) -> str:
    """Reason of a missing verdict: one of the five kinds, else an error with that text."""
    kind, _, detail = text.strip().partition(":")
    spelled = re.sub(r"[\s_-]+", " ", kind.strip().lower())
    if spelled in _KINDS:
        return missing_reason(spelled, detail)
    return missing_reason(ERROR, text) if text.strip() else NOT_RUN


def _parse(text: str) -> Answer:
    # Both ids of questions and reasons may hold an equals sign.
    for sign in re.finditer("=", text):
        question, verdict = text[: sign.start()], _VERDICT.fullmatch(text[sign.end() :].strip())
        if verdict is not None and question.strip():
            return _answer(question, verdict)
    question, sign_found, rest = text.rpartition("=")
    if not sign_found:
        raise InputError(f"{text!r} is no QUESTION=VERDICT; a verdict is {FORMS}")
    if not question.strip():
        raise InputError(f"{text!r} names no question; write QUESTION=VERDICT")
    hint = f"; write {question}=missing:{rest}" if rest.strip().lower() in _KINDS else ""
    raise InputError(f"{text!r} has the verdict {rest!r}, which is none of {FORMS}{hint}")


def _answer(question: str, verdict: re.Match[str]) -> Answer:
    if verdict["word"]:
        return Answer(question=question, passes=int(verdict["word"].lower() == "pass"), trials=1)
    if verdict["trials"] is None:
        return Answer(
            question=question, passes=0, trials=0, reason=reason_of(verdict["reason"] or "")
        )
    passes, trials = int(verdict["passes"]), int(verdict["trials"])
    if not trials or passes > trials or trials > MOST_TRIALS:
        raise InputError(
            f"question {question!r} has {passes} passes of {trials} trials; "
            f"write PASSES/TRIALS with 1 to {MOST_TRIALS} trials, or missing"
        )
    return Answer(question=question, passes=passes, trials=trials)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
