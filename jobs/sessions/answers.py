"""Verdicts that an adaptive session is told, from the words of the command line."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.run_builder import ERROR, INVALIDATED, NOT_RUN, SKIPPED, TIMEOUT, missing_reason
from jobs.importing.addressing import Addressing
from jobs.importing.sources import Source, read_sources
from recurring_eval.errors import InputError
from recurring_eval.records import MISSING, PASS, RunLog
from storage.runs.benchmarks import bank_by_version
from storage.sessions import SessionRecord, SessionStep

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
            f"{_listed(list(differing.values()))}; {where} keeps the first verdict, and "
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


def answers_of_log(app: App, path: Path, record: SessionRecord) -> list[Answer]:
    """Read the one run of a log as answers, as an import into the benchmark would read it.

    Parameters
    ----------
    app : App
    path : Path
        A file, or a folder that is one log.
    record : SessionRecord

    Raises
    ------
    InputError
        If the log is refused, holds several runs, is of another session, or has a
        question of another content than the session's bank.
    """
    benchmark = record.benchmark
    with app.open_history(read_only=True) as history:
        addressing = Addressing.load(history, app.settings, benchmark=benchmark)
        bank = bank_by_version(history, benchmark, record.bank_version)
    options = addressing.read_options(ReadOptions(without_verdicts=True))
    try:
        source = _only_log(path, options)
        _require_benchmark(source, benchmark)
        (item,) = addressing.place([source])
        if item.refusal is not None:
            raise InputError(item.refusal)
        log = _only_run(item.logs, record)
        _require_contents(log, dict(zip(bank.question_ids, bank.content_hashes, strict=True)))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return answers_of_run(log, app.view(benchmark))


def answers_of_run(log: RunLog, view: BenchmarkView) -> list[Answer]:
    """Count the verdicts of a run by question, in the order of the log.

    Of several trials those without a verdict are left out, or are fails where the
    benchmark's rule for their reason says so.
    """
    fails = [view.is_fail(reason) for reason in log.reasons]
    answers = []
    for position, question in enumerate(log.question_ids):
        rows = np.flatnonzero(log.question_index == position)
        valid = rows[log.outcome[rows] != MISSING]
        reasons = [int(index) for index in log.reason_index[rows] if index >= 0]
        as_fail = [index for index in reasons if fails[index]]
        if valid.size:
            passes = int((log.outcome[valid] == PASS).sum())
            trials = len(valid) + len(as_fail)
            answers.append(Answer(question=question, passes=passes, trials=trials))
        elif reasons:
            reason = log.reasons[(as_fail or reasons)[0]]
            answers.append(Answer(question=question, passes=0, trials=0, reason=reason))
    return answers


def _only_log(path: Path, options: ReadOptions) -> Source:
    found = [s for s in read_sources([path], harness="auto", options=options) if not s.is_skipped]
    if len(found) != 1:
        raise InputError(f"holds {len(found)} logs; use the log of one run")
    if found[0].refusal is not None:
        raise InputError(found[0].refusal)
    if found[0].log.others_failed:
        raise InputError("names only questions that passed; include the failed ones as well")
    if found[0].large is not None:
        raise InputError("is too large for the log of one run; use a log of that run alone")
    return found[0]


def _require_benchmark(source: Source, benchmark: str) -> None:
    """Refuse runs that say they are of another benchmark; a tool's task name is none."""
    named = {log.benchmark for log in source.log.runs if log.benchmark is not None}
    if not source.log.has_tasks and named - {benchmark}:
        other = min(named - {benchmark})
        raise InputError(f"is of benchmark {other!r}, but the session of {benchmark!r}")


def _only_run(logs: Sequence[RunLog], record: SessionRecord) -> RunLog:
    own = [log for log in logs if log.session_id == record.session_id] or list(logs)
    if len(own) != 1:
        keys = ", ".join(log.run_key for log in own[:5])
        raise InputError(f"holds {len(own)} runs ({keys}); a session is one run, choose one")
    (log,) = own
    if log.session_id not in (None, record.session_id):
        raise InputError(f"belongs to session {log.session_id}, not to {record.session_id}")
    return log


def _require_contents(log: RunLog, contents: Mapping[str, str]) -> None:
    changed = [
        question
        for question, content in zip(log.question_ids, log.content_hashes, strict=True)
        if content and contents.get(question) and contents[question] != content
    ]
    if changed:
        raise InputError(
            f"has {len(changed)} questions whose content changed since the session began, first "
            f"{changed[0]!r}; start another session after the next calibration"
        )
