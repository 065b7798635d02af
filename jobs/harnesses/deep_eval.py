"""DeepEval: the test runs that it saves into DEEPEVAL_RESULTS_FOLDER."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from jobs.harnesses.harness import Harness, LogFile, ReadOptions
from jobs.harnesses.json_files import (
    JsonObject,
    as_list,
    as_number,
    as_object,
    as_text,
    inside,
    read_json,
)
from jobs.harnesses.log_files import LogUnit, Peek, one_file_units
from jobs.harnesses.log_values import (
    dated,
    digest,
    plain_text,
    question_key,
    settings_text,
    time_of_name,
)
from jobs.harnesses.run_builder import LoggedVerdict, build_run, error_reason
from jobs.harnesses.selection import Selection, SelectionContext, filtered_dataset, subset_marked
from jobs.harnesses.verdict_rule import VerdictRule, choose
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

_NAME: Final = "deepeval"
_KEYS: Final = frozenset(("testCases", "metricsScores"))
_UNNAMED: Final = re.compile(r"(conversational_)?test_case_\d+")
_SUCCESS: Final = "success"
_CASE_NAME: Final = "name"
_INPUT: Final = "input"


def _find(files: Sequence[Peek]) -> Iterable[LogUnit]:
    """Claim test runs."""
    return one_file_units(file for file in files if file.keys >= _KEYS)


def _read(unit: LogUnit, options: ReadOptions) -> LogFile:
    """Read a test run."""
    document = as_object(read_json(unit.path))
    cases = [
        as_object(case)
        for name in ("testCases", "conversationalTestCases")
        for case in as_list(document.get(name))
    ]
    if not cases:
        raise InputError("has no test cases")
    rule = options.rule(_NAME, None)
    metrics = list(dict.fromkeys(name for case in cases for name in _metrics(case)))
    metric = choose("metric", [_SUCCESS, *metrics], rule.verdict or _SUCCESS)
    identify = choose(
        "field", [_CASE_NAME, _INPUT], rule.question or _CASE_NAME, option="--question"
    )
    started, notes = dated(time_of_name(unit.path.stem, options.timezone), unit.path)
    unnamed = sum(not _name(case) for case in cases)
    if unnamed and identify == _CASE_NAME:
        notes.append(f"test cases without a name, known by a hash of their input: {unnamed}")
    identifier = plain_text(document.get("identifier"))
    settings = as_object(document.get("hyperparameters"))
    run = build_run(
        [_verdict(case, metric, identify, rule) for case in cases],
        # The durations make it that of one execution.
        run_key="deepeval-"
        + digest([[_name(c), c.get("success"), c.get("runDuration")] for c in cases]),
        task=None,
        agent=options.agent or plain_text(settings.get("agent")) or identifier,
        harness=_NAME,
        started_at=started,
        agent_config=settings_text(
            identifier=identifier,
            model=settings.get("model"),
            version=settings.get("agent_version"),
        ),
        subset_id=subset_marked([identifier, unit.path.name]),
    )
    return LogFile(runs=(run,), notes=tuple(notes))


def _selection(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Phrase the ids for a filter in the test file."""
    return filtered_dataset(
        ids,
        context,
        tool="DeepEval",
        program=("deepeval", "test", "run", "TEST_FILE", "--identifier", "LABEL"),
        field="name",
        name="the identifier of the test run",
    )


def _name(case: JsonObject) -> str:
    """Name that was given to a case; the numbered ones change with the order."""
    name = as_text(case.get("name"))
    return "" if _UNNAMED.fullmatch(name) else name


def _metrics(case: JsonObject) -> list[str]:
    return [
        name
        for metric in as_list(case.get("metricsData"))
        if (name := plain_text(inside(metric, "name")))
    ]


def _verdict(case: JsonObject, metric: str, identify: str, rule: VerdictRule) -> LoggedVerdict:
    name = _name(case)
    if identify == _INPUT or not name:
        asked = case.get("input") if case.get("input") is not None else case.get("turns")
        name = f"input-{digest(asked)}"
    told = [as_object(item) for item in as_list(case.get("metricsData"))]
    if metric != _SUCCESS:
        told = [item for item in told if plain_text(item.get("name")) == metric]
    # A judge that failed is reported as a test that failed.
    errors = [text for item in told if (text := plain_text(item.get("error")))]
    success = (
        case.get("success") if metric == _SUCCESS else told[0].get("success") if told else None
    )
    outcome = MISSING
    if not errors and isinstance(success, bool):
        outcome = PASS if success else FAIL
        score = as_number(told[0].get("score")) if metric != _SUCCESS else float("nan")
        if rule.threshold is not None and score == score:
            outcome = PASS if score >= rule.threshold else FAIL
    return LoggedVerdict(
        question=question_key(name, typed=False),
        outcome=outcome,
        reason=error_reason(errors[0] if errors else f"no result of {metric}"),
        duration_s=as_number(case.get("runDuration")),
        cost=as_number(case.get("evaluationCost")),
    )


DEEP_EVAL: Final = Harness(name=_NAME, find=_find, read=_read, selection=_selection)
"""Test runs of DeepEval."""
