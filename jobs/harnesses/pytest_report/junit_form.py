"""Tests of a session as ``--junitxml`` reports them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from jobs.harnesses.junit_xml import Case, read_junit
from jobs.harnesses.pytest_report.outcomes import (
    FAILED,
    PASSED,
    SETUP_ERROR,
    SKIP,
    TEARDOWN_ERROR,
    XFAIL,
    TestCase,
)
from jobs.harnesses.times import read_time

_MODULE: Final = re.compile(r"test_.*|.*_test|conftest")
_PHASE: Final = re.compile(r"failed on (setup|teardown) with \"(.*)\"", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session of pytest.

    Attributes
    ----------
    cases : sequence of TestCase
    started_at : datetime or None
    seconds : float
    names : tuple of str
        Texts that may carry the mark of a subset.
    facts : mapping of str to str
        What else the report says of the session.
    guessed_ids : bool
        Whether node ids were rebuilt from class names.
    """

    cases: Sequence[TestCase]
    started_at: datetime | None
    seconds: float = float("nan")
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
        cases.append(_test_case(case))
    times = [time for stamp in stamps if (time := read_time(stamp, timezone)) is not None]
    return Session(
        cases=cases,
        started_at=min(times, default=None),
        names=tuple(names),
        facts=facts,
        guessed_ids=guessed,
    )


def _test_case(case: Case) -> TestCase:
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
    try:
        seconds = float(case.seconds)
    except ValueError:
        seconds = float("nan")
    return TestCase(
        node_id=node_id_of(case.classname, case.name, case.file),
        state=state,
        message=message,
        properties=case.properties,
        seconds=seconds,
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
