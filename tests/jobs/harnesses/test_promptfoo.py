"""Exports of promptfoo, made small."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.harnesses.promptfoo.reader import PROMPTFOO
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError
from tests.jobs.command_line import invoke
from tests.jobs.harnesses.reading import SUBSET, context, read_log, read_run, refusal, words, write
from tests.jobs.harnesses.stored import stored_runs, stored_verdicts


def row(qid: str, success: bool = True, **facts: Any) -> dict[str, Any]:
    return {
        "success": success,
        "failureReason": 0 if success else 1,
        "error": None if success else "Expected output to be better",
        "testIdx": 0,
        "promptIdx": 0,
        "promptId": "f" * 64,
        "provider": {"id": "agent", "label": ""},
        "vars": {"id": qid, "text": f"about {qid}"},
        "testCase": {"description": f"{qid}: a test", "metadata": {"case": qid}},
        "namedScores": {"tone": 0.5, "facts": float(success)},
        "latencyMs": 1500,
        "cost": 0.25,
        "id": f"uid-{qid}",
    } | facts


def document(rows: list[dict[str, Any]], **facts: Any) -> dict[str, Any]:
    return {
        "evalId": "eval-abc",
        "results": {"version": 3, "timestamp": "2026-11-16T07:00:05.663Z", "results": rows},
        "config": {"tags": {"agent_version": "1.2"}} | facts,
        "shareableUrl": None,
    }


ERROR = {"success": False, "failureReason": 2, "error": "request timed out"}


def test_json(tmp_path):
    rows = [row("a"), row("b", False), row("c", **ERROR)]
    run = read_run(write(tmp_path / "x.json", document(rows)), "promptfoo")
    assert words(run) == {"a": "pass", "b": "fail", "c": "missing"}
    assert run.reasons == ("timeout: request timed out",)
    assert (run.run_key, run.agent, run.benchmark) == ("eval-abc", "agent", None)
    assert run.agent_config == f"agent_version=1.2 prompt={'f' * 12}"
    assert run.started_at.isoformat() == "2026-11-16T07:00:05.663000+00:00"
    assert (run.duration_s[0], run.cost[0]) == (1.5, 0.25)


def test_yaml_is_the_same(tmp_path):
    rows = [row("a"), row("b", False)]
    text = yaml.safe_dump(document(rows), sort_keys=False)
    run = read_run(write(tmp_path / "x.yaml", text), "promptfoo")
    assert words(run) == {"a": "pass", "b": "fail"}
    assert run.run_key == "eval-abc"


def test_repeats_are_trials(tmp_path):
    rows = [row("a"), row("a", False), row("a"), row("b")]
    run = read_run(write(tmp_path / "x.json", document(rows)), "promptfoo")
    assert words(run) == {"a": "pass fail pass", "b": "pass"}


def test_each_column_is_a_run(tmp_path):
    rows = [row("a"), row("a", False, promptIdx=1, provider={"id": "p", "label": "other"})]
    first, second = read_log(write(tmp_path / "x.json", document(rows)), "promptfoo").runs
    assert (first.run_key, first.agent, words(first)) == ("eval-abc/0", "agent", {"a": "pass"})
    assert (second.run_key, second.agent, words(second)) == ("eval-abc/1", "other", {"a": "fail"})


@pytest.mark.parametrize(
    ("rule", "expected"),
    [({"verdict": "facts"}, "pass"), ({"verdict": "tone", "threshold": 0.6}, "fail")],
)
def test_an_assertion_may_decide(tmp_path, rule, expected):
    path = write(tmp_path / "x.json", document([row("a")]))
    assert words(read_run(path, "promptfoo", **rule)) == {"a": expected}


def test_the_metric_is_asked(tmp_path):
    path = write(tmp_path / "x.json", document([row("a")]))
    assert "has no metric 'fact'" in refusal(path, "promptfoo", verdict="fact")
    assert "--threshold" in refusal(path, "promptfoo", verdict="tone")


def test_what_identifies_a_test(tmp_path):
    rows = [row("a"), row("b")]
    path = write(tmp_path / "x.json", document(rows))
    assert set(words(read_run(path, "promptfoo", question="metadata.case"))) == {"a", "b"}
    assert set(words(read_run(path, "promptfoo", question="description"))) == {
        "a: a test",
        "b: a test",
    }
    # An id that two tests share does not identify them.
    for entry in rows:
        entry["vars"]["id"] = "same"
    del rows[0]["testCase"]["description"]
    log = read_log(write(tmp_path / "y.json", document(rows)), "promptfoo")
    assert log.decided == VerdictRule(question="content")
    assert all(key.startswith("content-") for key in log.runs[0].question_ids)


def test_numbers_and_texts_differ(tmp_path):
    rows = [row("7"), row("x")]
    rows[1]["vars"]["id"] = 7
    run = read_run(write(tmp_path / "x.json", document(rows)), "promptfoo")
    assert run.question_ids == ('"7"', "7")


def test_other_verdicts_of_one_name_are_refused(tmp_path):
    write(tmp_path / "x.json", document([row("a")]))
    write(tmp_path / "x.jsonl", [row("a", False)])
    assert "x.jsonl beside it" in refusal(tmp_path, "promptfoo")


def test_csv_of_two_columns(tmp_path):
    text = (
        "Description,id,[p1] ask,Status,Score,Named Scores,Grader Reason,Comment"
        ",[p2] ask,Status,Score,Named Scores,Grader Reason,Comment\n"
        'one,a,out,PASS,1.00,"{""m"":1}",ok,,out,FAIL,0.00,"{""m"":0}",no,\n'
        "two,b,,ERROR,0.00,,,,out,PASS,1.00,,,\n"
    )
    first, second = read_log(write(tmp_path / "x.csv", text), "promptfoo").runs
    assert (first.agent, words(first)) == ("p1", {"a": "pass", "b": "missing"})
    assert (second.agent, words(second)) == ("p2", {"a": "fail", "b": "pass"})


def test_junit_knows_descriptions_alone(tmp_path):
    text = (
        '<testsuites name="promptfoo"><testsuite name="[p] prompt 1" '
        'timestamp="2026-11-19T07:00:03Z"><testcase name="test 1: one"/>'
        '<testcase name="test 2: two"><failure message="no"/></testcase></testsuite></testsuites>'
    )
    path = write(tmp_path / "x.xml", text)
    assert words(read_run(path, "promptfoo")) == {"one": "pass", "two": "fail"}
    assert "export JSON" in refusal(path, "promptfoo", question="vars.id")


def test_three_forms_of_one_evaluation_are_one_run(project):
    rows = [row("a"), row("b", False)]
    write(project / "logs" / "x.jsonl", rows)
    write(
        project / "logs" / "x.csv",
        "Description,id,text,[agent] ask,Status,Score,Named Scores,Grader Reason,Comment\n"
        "a: a test,a,about a,out,PASS,1.00,,ok,\nb: a test,b,about b,out,FAIL,0.00,,no,\n",
    )
    write(
        project / "logs" / "x.junit.xml",
        '<testsuites name="promptfoo"><testsuite name="[agent] prompt 1" '
        'timestamp="2026-11-19T07:00:03Z"><testcase name="test 1: a: a test"/><testcase '
        'name="test 2: b: a test"><failure message="no"/></testcase></testsuite></testsuites>',
    )
    outcome = invoke("import", project / "logs", "--benchmark", "b", "--json")
    assert outcome.code == 0, outcome.err
    files = {Path(file["path"]).name: file["status"] for file in outcome.document["files"]}
    assert files == {"x.jsonl": "imported", "x.csv": "part", "x.junit.xml": "part"}
    (cells,) = stored_verdicts(project).values()
    assert cells == {("a", 1): "pass", ("b", 1): "fail"}
    # JSON lines have no time of their own; the JUnit report has.
    (run,) = stored_runs(project).values()
    assert run["started_at"].isoformat() == "2026-11-19T07:00:03+00:00"


@pytest.mark.parametrize("mark", [f"subset={SUBSET}", "name"])
def test_the_subset_comes_back(tmp_path, mark):
    tags = {"subset": SUBSET} if mark != "name" else {}
    name = "x.json" if mark != "name" else f"subset.{SUBSET}.json"
    run = read_run(write(tmp_path / name, document([row("a")], tags=tags)), "promptfoo")
    assert (run.subset_id, run.tags) == (SUBSET, ())


AWKWARD = ["a.b", "a|b", "(x)", "[y]", "$", "^", "back\\", "{1}", "a/b", "größe", "a b", "'", '"']


def test_selection_is_literal():
    locators = {f"q{i}": text for i, text in enumerate([*AWKWARD, "axb", "x", "y"])}
    chosen = list(locators)[: len(AWKWARD)]
    found = PROMPTFOO.selection(chosen, context(locators=locators))
    arguments = shlex.split(found.command)
    pattern = arguments[arguments.index("--filter-pattern") + 1]
    matched = {key for key, text in locators.items() if re.search(pattern, text)}
    assert matched == set(chosen)
    assert arguments[arguments.index("--tag") + 1] == f"subset={SUBSET}"


def test_selection_needs_descriptions():
    with pytest.raises(InputError, match="give each test a description"):
        PROMPTFOO.selection(["q"], context())
    with pytest.raises(InputError, match="is that of several"):
        PROMPTFOO.selection(["q"], context(locators={"q": "same", "r": "same"}))


def test_no_rows(tmp_path):
    path = write(tmp_path / "x.json", json.dumps(document([])))
    assert refusal(path, "promptfoo") == "has no rows: the filter of the evaluation matched no test"
