"""One test of a session, whatever report it came in, and its verdict."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from jobs.harnesses.plain_text import is_timeout
from jobs.harnesses.run_builder import ERROR, SKIPPED, TIMEOUT, missing_reason
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.records import FAIL, MISSING, PASS

PASSED: Final = "passed"
FAILED: Final = "failed"
SETUP_ERROR: Final = "setup-error"
TEARDOWN_ERROR: Final = "teardown-error"
SKIP: Final = "skipped"
XFAIL: Final = "xfail"
XPASS: Final = "xpass"

_DEFAULTS: Final = {
    PASSED: PASS,
    FAILED: FAIL,
    SETUP_ERROR: MISSING,
    TEARDOWN_ERROR: MISSING,
    SKIP: MISSING,
    XFAIL: FAIL,
    XPASS: PASS,
}
_REPEAT: Final = re.compile(r"(.*?)([\[-])([1-9]\d{0,4})-([1-9]\d{0,4})\]", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCase:
    """What a report says of one execution of a test.

    Attributes
    ----------
    node_id : str
    state : str
        One of the constants above.
    message : str
        Of an error or skip.
    properties : mapping of str to str
        What the test recorded with `record_property`.
    seconds : float
    trial : int or None
        Where pytest-repeat numbered it.
    """

    # The name begins as pytest's own tests do.
    __test__ = False

    node_id: str
    state: str
    message: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    seconds: float = float("nan")
    trial: int | None = None


def judge(case: TestCase, rule: VerdictRule) -> tuple[int, str]:
    """Outcome of a test, and the reason of a missing one."""
    outcome = rule.count(case.state, _DEFAULTS[case.state])
    if outcome != MISSING:
        return outcome, ""
    if case.state == SKIP:
        return outcome, missing_reason(SKIPPED, case.message)
    kind = TIMEOUT if is_timeout(case.message) else ERROR
    return outcome, missing_reason(kind, f"{case.state}: {case.message}".strip(": "))


def last_tries(cases: Sequence[TestCase]) -> list[TestCase]:
    """Keep what became of each test.

    pytest-rerunfailures reports each earlier try as an empty test case, which looks
    like a pass; and a teardown that breaks after a failed call is a test case more.
    """
    kept: dict[str, TestCase] = {}
    for case in cases:
        before = kept.get(case.node_id)
        if before is not None and before.state == FAILED and case.state == TEARDOWN_ERROR:
            continue
        kept[case.node_id] = case
    return list(kept.values())


def with_trials(cases: Sequence[TestCase]) -> list[TestCase]:
    """Take the numbers of pytest-repeat, ``-2-3`` for the second of three, out of the ids.

    Parameters may look alike; they are repetitions only if every test of the report has such
    a number, with the same total, and some test has them all.
    """
    matches = [_REPEAT.fullmatch(case.node_id) for case in cases]
    found = [match for match in matches if match is not None]
    totals = {int(match[4]) for match in found}
    if len(found) != len(cases) or len(totals) != 1 or min(totals) < 2:
        return list(cases)
    total = min(totals)
    numbers: dict[str, set[int]] = {}
    for match in found:
        numbers.setdefault(_base(match), set()).add(int(match[3]))
    if not all(seen <= set(range(1, total + 1)) for seen in numbers.values()):
        return list(cases)
    if not any(len(seen) == total for seen in numbers.values()):
        return list(cases)
    return [
        replace(case, node_id=_base(match), trial=int(match[3]))
        for case, match in zip(cases, found, strict=True)
    ]


def _base(match: re.Match[str]) -> str:
    return match[1] if match[2] == "[" else f"{match[1]}]"
