"""Tests of a session as pytest-json-report reports them."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import JsonObject, as_list, as_number, as_object, as_text, inside
from jobs.harnesses.json_stream import object_entries
from jobs.harnesses.plain_text import plain_text
from jobs.harnesses.pytest_report.junit_form import Session
from jobs.harnesses.pytest_report.outcomes import (
    FAILED,
    PASSED,
    SETUP_ERROR,
    SKIP,
    TEARDOWN_ERROR,
    XFAIL,
    XPASS,
    TestCase,
)
from jobs.harnesses.times import read_time
from recurring_eval.errors import InputError

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
                cases.append(_test_case(as_object(value), number=len(cases) + 1))
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
    return Session(
        cases=cases, started_at=started, seconds=seconds, names=tuple(names), facts=facts
    )


def _test_case(test: JsonObject, *, number: int) -> TestCase:
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
