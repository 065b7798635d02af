"""Reports of pytest, made small."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from jobs.harnesses.py_test.reader import PY_TEST
from jobs.harnesses.py_test.reports import node_id_of
from recurring_eval.errors import InputError
from tests.jobs.command_line import invoke
from tests.jobs.harnesses.reading import SUBSET, context, read_log, read_run, refusal, words, write
from tests.jobs.harnesses.stored import stored_verdicts

STAMP = "2026-11-16T09:00:00.123456+00:00"


def junit(*cases: str, name: str = "pytest", root: str = "") -> str:
    return (
        f'<?xml version="1.0" encoding="utf-8"?>{root}<testsuites name="pytest tests">'
        f'<testsuite name="{name}" timestamp="{STAMP}">{"".join(cases)}</testsuite></testsuites>'
    )


def case(name: str, inner: str = "", attributes: str = "") -> str:
    start = f'<testcase classname="evals.test_a" name="{name}" time="0.5" {attributes}>'
    return f"{start}{inner}</testcase>"


FAILURE = '<failure message="wrong">x</failure>'
TEARDOWN = '<error message="failed on teardown with &quot;RuntimeError: broke&quot;"/>'


def report(*tests: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {
        "created": 1_794_819_610.5,
        "duration": 10.25,
        "exitcode": 0,
        "root": "/x",
        "environment": {},
        "summary": {"total": len(tests)},
        "tests": list(tests),
    } | facts


def test_states(tmp_path):
    text = junit(
        case("test_pass"),
        case("test_fail", FAILURE),
        case("test_setup", '<error message="failed on setup with &quot;OSError: x&quot;"/>'),
        case("test_skip", '<skipped type="pytest.skip" message="no tool"/>'),
        case("test_known", '<skipped type="pytest.xfail" message="gap"/>'),
        case("test_leak", TEARDOWN),
        case("test_both", FAILURE),
        case("test_both", TEARDOWN),
    )
    run = read_run(write(tmp_path / "x.xml", text), "pytest")
    prefix = "evals/test_a.py::test_"
    assert {key.removeprefix(prefix): word for key, word in words(run).items()} == {
        "pass": "pass",
        "fail": "fail",
        "setup": "missing",
        "skip": "missing",
        "known": "fail",
        "leak": "missing",
        "both": "fail",
    }
    assert set(run.reasons) == {
        "error: setup-error: OSError: x",
        "skipped: no tool",
        "error: teardown-error: RuntimeError: broke",
    }
    assert run.run_key == "pytest-2026-11-16T09:00:00.12Z"
    assert run.duration_s[0] == 0.5


def test_the_last_try_counts(tmp_path):
    # pytest-rerunfailures reports earlier tries as empty cases, which look like passes.
    text = junit(case("test_x"), case("test_x"), case("test_x", FAILURE), case("test_y"))
    assert set(words(read_run(write(tmp_path / "x.xml", text), "pytest")).values()) == {
        "fail",
        "pass",
    }


def test_repeats_are_trials(tmp_path):
    names = [f"test_x[a-{i}-3]" for i in (1, 2, 3)] + [f"test_y[{i}-3]" for i in (1, 2, 3)]
    text = junit(*(case(n, FAILURE if "2-3" in n else "") for n in names))
    log = read_log(write(tmp_path / "x.xml", text), "pytest")
    assert words(log.runs[0]) == {
        "evals/test_a.py::test_x[a]": "pass fail pass",
        "evals/test_a.py::test_y": "pass fail pass",
    }
    assert any("pytest-repeat" in note for note in log.notes)


@pytest.mark.parametrize(
    "names",
    [["test_x[1-3]", "test_x[2-3]"], ["test_x[1-2]", "test_x[2-2]", "test_y"], ["t[1-1]"]],
)
def test_parameters_that_look_like_repeats(tmp_path, names):
    text = junit(*map(case, names))
    run = read_run(write(tmp_path / "x.xml", text), "pytest")
    assert [key.rpartition("::")[2] for key in run.question_ids] == names


@pytest.mark.parametrize(
    ("classname", "file", "expected"),
    [
        ("test_a", "", "test_a.py::t"),
        ("a.b.test_c.TestX.TestY", "", "a/b/test_c.py::TestX::TestY::t"),
        ("tests.agent_test", "", "tests/agent_test.py::t"),
        ("evals.cases.TestX", "evals/cases.py", "evals/cases.py::TestX::t"),
        ("a.b", "a/b.txt", "a/b.txt::t"),
        ("com.acme.Suite", "", "com.acme.Suite::t"),
        ("", "", "t"),
    ],
)
def test_node_ids(classname, file, expected):
    assert node_id_of(classname, "t", file) == expected


def test_json_report(tmp_path):
    tests = [
        {"nodeid": "t.py::a", "outcome": "passed", "call": {"outcome": "passed", "duration": 2}},
        {"nodeid": "t.py::b", "outcome": "error", "setup": {"outcome": "failed"}},
        {
            "nodeid": "t.py::c",
            "outcome": "error",
            "call": {"outcome": "failed"},
            "teardown": {"outcome": "failed"},
        },
        {"nodeid": "t.py::d", "outcome": "xpassed"},
    ]
    run = read_run(write(tmp_path / "x.json", report(*tests)), "pytest")
    assert words(run) == {
        "t.py::a": "pass",
        "t.py::b": "missing",
        "t.py::c": "fail",
        "t.py::d": "pass",
    }
    assert run.started_at.isoformat() == "2026-11-16T09:00:00.250000+00:00"


def test_two_reports_of_one_session_are_one_run(project):
    call = {"outcome": "passed", "duration": 0.5}
    fail = {"outcome": "failed", "duration": 0.5}
    tests = [
        {"nodeid": "evals/test_a.py::test_x", "outcome": "passed", "call": call},
        {"nodeid": "evals/test_a.py::test_y", "outcome": "failed", "call": fail},
    ]
    write(project / "logs" / "p.json", report(*tests))
    write(project / "logs" / "p.xml", junit(case("test_x"), case("test_y", FAILURE)))
    outcome = invoke("import", project / "logs", "--benchmark", "b", "--json")
    assert outcome.code == 0, outcome.err
    files = {Path(file["path"]).name: file["status"] for file in outcome.document["files"]}
    assert files == {"p.json": "imported", "p.xml": "part"}
    (cells,) = stored_verdicts(project).values()
    assert cells == {
        ("evals/test_a.py::test_x", 1): "pass",
        ("evals/test_a.py::test_y", 1): "fail",
    }


def test_a_property_may_identify(tmp_path):
    inner = '<properties><property name="qid" value="q-1"/></properties>'
    path = write(tmp_path / "x.xml", junit(case("test_x", inner)))
    log = read_log(path, "pytest", question="qid")
    assert words(log.runs[0]) == {"q-1": "pass"}
    assert log.locators == {"": {"q-1": "evals/test_a.py::test_x"}}
    assert "has no property 'id'" in refusal(path, "pytest", question="id")


def test_policies(tmp_path):
    path = write(tmp_path / "x.xml", junit(case("test_x", TEARDOWN), case("test_y")))
    run = read_run(path, "pytest", counts={"teardown-error": "pass"})
    assert set(words(run).values()) == {"pass"}


def test_the_subset_comes_back(tmp_path):
    text = junit(case("test_x"), name=f"subset.{SUBSET}")
    assert read_run(write(tmp_path / "x.xml", text), "pytest").subset_id == SUBSET
    test = {"nodeid": "t.py::a", "outcome": "passed"}
    path = write(tmp_path / "j" / f"subset.{SUBSET}.json", report(test))
    assert read_run(path, "pytest").subset_id == SUBSET


def test_selection():
    ids = ["t.py::test_x[a b]", "t.py::test_x['q']", r"t.py::test_x[gr\xf6]", "a/t.py::T::t"]
    found = PY_TEST.selection(ids, context(folder="out"))
    arguments = shlex.split(found.command)
    name = f"subset.{SUBSET}"
    assert arguments[:2] == ["pytest", f"@out/{name}.ids.txt"]
    assert f"junit_suite_name={name}" in arguments
    assert found.files[f"{name}.ids.txt"].split("\n") == [*ids, ""]


@pytest.mark.parametrize("key", ["q-1", "-k.py::t", "@x.py::t", "a.py::t\nb.py"])
def test_selection_of_what_is_no_node_id(key):
    with pytest.raises(InputError, match="node id"):
        PY_TEST.selection([key], context())
    found = PY_TEST.selection([key], context(locators={key: "t.py::x"}))
    assert "t.py::x\n" in found.files.values()


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize("root", [BOMB, '<!DOCTYPE x SYSTEM "file:///etc/passwd">'])
def test_declarations_are_refused(tmp_path, root):
    path = write(tmp_path / "x.xml", junit(case("test_x"), root=root))
    assert "document type or entities" in refusal(path, "pytest")


def test_deep_xml_is_refused(tmp_path):
    path = write(tmp_path / "x.xml", junit("<a>" * 100_000))
    assert refusal(path, "pytest") == "is XML nested too deeply"


def test_cut_short(tmp_path):
    path = write(tmp_path / "x.xml", junit(case("test_x"))[:-30])
    assert refusal(path, "pytest") == "is cut short: the XML does not end"
