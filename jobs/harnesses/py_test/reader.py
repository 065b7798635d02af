"""pytest: JUnit XML, and the reports of pytest-json-report."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.junit_xml import root_of
from jobs.harnesses.log_files import LogUnit, Peek
from jobs.harnesses.log_values import check_id, plain_text, read_time, settings_text
from jobs.harnesses.py_test.reports import (
    Session,
    TestCase,
    judge,
    last_tries,
    read_json_session,
    read_junit_session,
    with_trials,
)
from jobs.harnesses.run_builder import LoggedVerdict, build_run
from jobs.harnesses.selection import Selection, SelectionContext, shell_command, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose
from recurring_eval.errors import InputError

_NAME: Final = "pytest"
_KEYS: Final = frozenset(("created", "duration", "exitcode", "summary"))
_STAMP: Final = re.compile(rb'timestamp="([^"]{10,40})"')
_CREATED: Final = re.compile(rb'"created":\s*([0-9.]+),\s*"duration":\s*([0-9.e-]+)')
_SAME: Final = timedelta(seconds=1)
_CONFIG: Final = ("agent_version", "version", "model", "commit", "config_hash")
_NODE_ID: Final = "nodeid"


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim reports; a JUnit and a JSON report of one session are one log."""
    json_files = [file for file in files if file.keys >= _KEYS]
    xml_files = [file for file in files if root_of(file.head) is not None]
    starts = {file.path: _start(file) for file in (*json_files, *xml_files)}
    paired: set[Path] = set()
    for file in json_files:
        twin = next(
            (
                other.path
                for other in xml_files
                if other.path.parent == file.path.parent
                and other.path not in paired
                and _is_same(starts[file.path], starts[other.path])
            ),
            None,
        )
        paired |= {twin} if twin else set()
        yield LogUnit(path=file.path, files=(file.path, twin) if twin else (file.path,))
    for file in xml_files:
        if file.path not in paired:
            yield LogUnit(path=file.path, files=(file.path,))


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a session."""
    session, notes = _read_session(unit, options)
    if not session.cases:
        raise InputError("has no tests")
    if session.started_at is None:
        raise InputError("has no time of the session")
    cases = with_trials(last_tries(session.cases))
    rule = options.rule(_NAME, None)
    field = _field(cases, rule)
    # Both reports give the start to a few microseconds, but not the same ones.
    stamp = session.started_at.replace(
        microsecond=session.started_at.microsecond // 10_000 * 10_000
    )
    run = build_run(
        [_verdict(case, field, rule) for case in cases],
        run_key=f"pytest-{stamp:%Y-%m-%dT%H:%M:%S.%f}"[:-4] + "Z",
        task=None,
        agent=options.agent or plain_text(session.facts.get("agent")) or "unknown",
        harness=_NAME,
        started_at=stamp,
        agent_config=settings_text(**{key: session.facts.get(key) for key in _CONFIG}),
        subset_id=subset_marked([*session.names, *(path.name for path in unit.files)]),
    )
    if session.guessed_ids:
        notes.append(
            "node ids were rebuilt from class names; -o junit_family=xunit1 writes the files"
        )
    if any(case.trial is not None for case in cases):
        notes.append("the numbers that pytest-repeat appends were read as trials")
    return LogFile(
        runs=(run,),
        notes=tuple(notes),
        locators={"": {_key(case, field): case.node_id for case in cases}},
    )


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Write a file of node ids, which pytest takes as ``@FILE``, one per line.

    Raises
    ------
    InputError
        If a question's node id is not known.
    """
    nodes = [context.locators.get(key, key) for key in ids]
    odd = [node for node in nodes if not _NODE.fullmatch(node) or "\n" in node or "\r" in node]
    if odd:
        raise InputError(
            f"the node id of {len(odd)} questions is not known, among them {odd[0]!r}; import "
            "a report of a full run that was made with -o junit_family=xunit1, or with "
            "--json-report"
        )
    label = context.label
    return Selection(
        command=shell_command(
            *("pytest", f"@{context.path_of(f'{label}.ids.txt')}"),
            *("-o", "junit_family=xunit1", "-o", f"junit_suite_name={label}"),
            f"--junitxml={context.path_of(f'{label}.xml')}",
        ),
        files=context.ids_file(nodes),
        notes=(
            "run it in pytest's root folder, from which node ids are counted; one that no "
            "longer exists stops the session; to repeat, run it again, for --count changes the "
            "node ids",
            f"import {label}.xml; for a JSON report, add --json-report"
            f" --json-report-file={label}.json and keep its name, the only place for the mark",
        ),
    )


def _read_session(unit: LogUnit, options: ReadOptions) -> tuple[Session, list[str]]:
    sessions, notes = [], []
    for path in unit.files:
        is_xml = root_of(Peek(path).head) is not None
        if not is_xml and not Peek(path).keys >= _KEYS:
            raise InputError("is no report of pytest")
        try:
            sessions.append(
                read_junit_session(path, options.timezone) if is_xml else read_json_session(path)
            )
        except InputError as error:
            if path == unit.path:
                raise
            notes.append(f"{path.name} of the same session was not used: it {error}")
    first = sessions[0]
    # The XML report has the suite's name and properties, the JSON report the node ids.
    names = tuple(name for session in sessions for name in session.names)
    facts = {key: text for session in sessions for key, text in session.facts.items()}
    return replace(first, names=names, facts=facts), notes


def _start(file: Peek) -> datetime | None:
    """Start of a session according to the head of its report."""
    found = _STAMP.search(file.head[:4096])
    if found is not None:
        return read_time(found[1].decode(errors="replace"))
    created = _CREATED.search(file.head[:4096])
    if created is None:
        return None
    try:
        return read_time(float(created[1]) - float(created[2]))
    except ValueError:
        return None


def _is_same(a: datetime | None, b: datetime | None) -> bool:
    return a is not None and b is not None and abs(a - b) < _SAME


def _field(cases: Sequence[TestCase], rule: VerdictRule) -> str:
    """Property that identifies a question; the node id unless the rule names one."""
    if rule.question is None:
        return _NODE_ID
    properties = list(dict.fromkeys(name for case in cases for name in case.properties))
    return choose("property", [_NODE_ID, *properties], rule.question, option="--question")


def _key(case: TestCase, field: str) -> str:
    key = case.node_id if field == _NODE_ID else case.properties.get(field, case.node_id)
    check_id(key)
    return key


def _verdict(case: TestCase, field: str, rule: VerdictRule) -> LoggedVerdict:
    outcome, reason = judge(case, rule)
    return LoggedVerdict(
        question=_key(case, field),
        outcome=outcome,
        reason=reason,
        trial=case.trial,
        duration_s=case.seconds,
    )


_NODE: Final = re.compile(r"[^-@\s:][^\n\r]*\.(py|txt|rst|md|ya?ml|json)(::.*)?", re.DOTALL)


PY_TEST: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Sessions in which each test is a question."""
