"""Tests of a session of pytest as its reports have them, and their verdicts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import (
    JsonObject,
    as_list,
    as_number,
    as_object,
    as_text,
    inside,
    object_entries,
)
from jobs.harnesses.junit_xml import Case, read_junit
from jobs.harnesses.log_values import plain_text, read_time
from jobs.harnesses.run_builder import SKIPPED, error_reason, missing_reason
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError
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
    """One execution of a test.

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
    if case.state == SKIP:
        return outcome, missing_reason(SKIPPED, case.message)
    return outcome, error_reason(f"{case.state}: {case.message}".strip(": "))


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


_MODULE: Final = re.compile(r"test_.*|.*_test|conftest")
_PHASE: Final = re.compile(r"failed on (setup|teardown) with \"(.*)\"", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session of pytest.

    Attributes
    ----------
    cases : sequence of TestCase
    started_at : datetime or None
    names : tuple of str
        Texts that may carry the mark of a subset.
    facts : mapping of str to str
        What else the report says of the session.
    guessed_ids : bool
        Whether node ids were rebuilt from class names.
    """

    cases: Sequence[TestCase]
    started_at: datetime | None
    names: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    guessed_ids: bool = False


def read_junit_session(path: Path, timezone: str | None) -> Session:
    """Read a JUnit report.

    Raises
    ------
    InputError
        Saying what is wrong.
    """
    cases: list[TestCase] = []
    stamps: set[str] = set()
    names: dict[str, bool] = {}
    facts: dict[str, str] = {}
    guessed = False
    for case in read_junit(path):
        stamps.add(case.suite.timestamp)
        names[case.suite.name] = True
        facts |= case.suite.properties
        guessed = guessed or not case.file
        cases.append(_junit_case(case))
    times = [time for stamp in stamps if (time := read_time(stamp, timezone)) is not None]
    return Session(
        cases=cases,
        started_at=min(times, default=None),
        names=tuple(names),
        facts=facts,
        guessed_ids=guessed,
    )


def _junit_case(case: Case) -> TestCase:
    state, message = PASSED, ""
    for kind, type_, text in case.problems:
        if kind == "failure":
            state, message = FAILED, text
            break
        if kind == "skipped":
            state, message = (XFAIL if type_ == "pytest.xfail" else SKIP), text
        else:
            phase = _PHASE.fullmatch(text)
            state = TEARDOWN_ERROR if phase and phase[1] == "teardown" else SETUP_ERROR
            message = phase[2] if phase else text
    return TestCase(
        node_id=node_id_of(case.classname, case.name, case.file),
        state=state,
        message=message,
        properties=case.properties,
        seconds=case.seconds,
    )


def node_id_of(classname: str, name: str, file: str = "") -> str:
    """Node id of a test case.

    pytest writes the path with dots and appends the classes. With the path
    (``junit_family=xunit1``) the id is certain; without, the module is the last
    part that is named as modules of tests are.
    """
    parts = classname.split(".")
    if file:
        path = file.replace("\\", "/")
        module = path.removesuffix(".py").split("/")
        if parts[: len(module)] == module:
            return "::".join([path, *parts[len(module) :], name])
        return "::".join([path, name])
    modules = [at for at, part in enumerate(parts) if _MODULE.fullmatch(part)]
    if not modules:
        return f"{classname}::{name}" if classname else name
    end = modules[-1] + 1
    return "::".join(["/".join(parts[:end]) + ".py", *parts[end:], name])


_SKIP: Final = re.compile(r"'Skipped: (.*)'\)|\"Skipped: (.*)\"\)", re.DOTALL)
_STATES: Final = {"passed": PASSED, "failed": FAILED, "skipped": SKIP} | {
    "xfailed": XFAIL,
    "xpassed": XPASS,
    "error": SETUP_ERROR,
    # An earlier try of pytest-rerunfailures; a later one follows.
    "rerun": SETUP_ERROR,
}
_PHASES: Final = ("setup", "call", "teardown")


def read_json_session(path: Path) -> Session:
    """Read a report.

    Raises
    ------
    InputError
        Saying what is wrong.
    """
    cases: list[TestCase] = []
    report: dict[str, object] = {}
    with path.open("rb") as stream:
        for key, value in object_entries(stream, lists=("tests", "collectors", "warnings")):
            if key == "tests":
                cases.append(_json_case(as_object(value), number=len(cases) + 1))
            elif key not in ("collectors", "warnings"):
                report[key] = value
    seconds = as_number(report.get("duration"))
    created = read_time(report.get("created"))
    started = created
    if created is not None and 0.0 <= seconds < 1e7:
        # `created` is when the report was written.
        started = created - timedelta(seconds=seconds)
    environment = as_object(report.get("environment"))
    facts = {key: text for key, value in environment.items() if (text := plain_text(value))}
    names = [f"{key}:{text}" for key, text in facts.items()]
    names += [f"subset:{text}" for key, text in facts.items() if key == "subset_id"]
    return Session(cases=cases, started_at=started, names=tuple(names), facts=facts)


def _json_case(test: JsonObject, *, number: int) -> TestCase:
    node_id, outcome = as_text(test.get("nodeid")), as_text(test.get("outcome"))
    if not node_id:
        raise InputError(f"test {number} has no nodeid")
    state = _STATES.get(outcome)
    if state is None:
        raise InputError(f"test {node_id[:200]!r} has the unknown outcome {outcome[:40]!r}")
    phase = {name: as_text(inside(test, name, "outcome")) for name in _PHASES}
    if "failed" in (phase["call"], phase["teardown"]) and state == SETUP_ERROR:
        state = FAILED if phase["call"] == "failed" else TEARDOWN_ERROR
    seconds = [as_number(inside(test, name, "duration")) for name in _PHASES]
    return TestCase(
        node_id=node_id,
        state=state,
        message=_message(test, state),
        properties={
            str(key): text
            for entry in as_list(test.get("user_properties"))
            for key, value in as_object(entry).items()
            if (text := str(value) if isinstance(value, str | int | float) else "")
        },
        seconds=sum(value for value in seconds if value == value),
    )


def _message(test: JsonObject, state: str) -> str:
    where = {SETUP_ERROR: "setup", TEARDOWN_ERROR: "teardown", SKIP: "setup"}.get(state, "call")
    if state == SKIP:
        for name in (where, "call"):
            match = _SKIP.search(as_text(inside(test, name, "longrepr")))
            if match is not None:
                return match[1] or match[2] or ""
    return as_text(inside(test, where, "crash", "message"))
