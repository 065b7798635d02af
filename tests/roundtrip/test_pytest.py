"""Awkward node ids -> subset -> selection -> a real session of pytest -> import."""

import sys
from pathlib import Path

import pytest

from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.log_files import LogUnit
from jobs.harnesses.py_test.reader import PY_TEST
from tests.roundtrip.environments import run_command, tool_environment
from tests.roundtrip.projects import calibrated, check_recognised, selected

pytestmark = pytest.mark.roundtrip

TESTS = """\
import pytest

IDS = ["a b", "x::y", "a[b]", "[", "]", "a/b", "gr\\xf6\\xdfe", "\\u65e5\\u672c", "-x", "@x", "#1"]
IDS += ["'q'", '"q"', "$HOME", "`x`", "tab\\there", "new\\nline", "%41", "a,b"]
IDS += ["back\\\\slash", "*"]
IDS += ["a.b.py", "x" * 300, "1-3", "2-3", "None", "=1+1", "a;b", "&", "|", "~", "!", "?"]

@pytest.mark.parametrize("question", IDS, ids=IDS)
def test_answer(question):
    assert len(question) % 2

class TestRefund:
    @pytest.mark.parametrize("amount", range(8))
    def test_amount(self, amount):
        assert amount % 3

    class TestInner:
        def test_deep(self):
            pass
"""
FAILS = " || [ $? -eq 1 ]"
"""Tests that fail are results, not errors."""


@pytest.fixture
def tests(folder):
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "evals").mkdir()
    (folder / "evals" / "test_agent.py").write_text(TESTS)
    return folder


def node_ids(report: Path) -> list[str]:
    log = PY_TEST.read(LogUnit(path=report, files=(report,)), ReadOptions())
    return sorted(log.runs[0].question_ids)


def test_junit(tests):
    programs = Path(sys.executable).parent
    # The form of old, which has no file names, gives the same ids.
    for family in ("xunit1", "xunit2"):
        run_command(
            f"pytest -o junit_family={family} --junitxml={family}.xml{FAILS}", programs, tests
        )
    keys = node_ids(tests / "xunit1.xml")
    assert keys == node_ids(tests / "xunit2.xml")
    assert len(keys) == 42
    calibrated(tests, keys, "evals")
    asked = selected(tests, "pytest", 25, "evals")
    run_command(asked["command"] + FAILS, programs, tests)
    (report,) = tests.glob("subset.*.xml")
    (tests / "logs").mkdir()
    report.rename(tests / "logs" / "renamed.xml")
    check_recognised(tests, tests / "logs", asked)


def test_json_report(tests, tmp_path_factory):
    programs = tool_environment(
        tmp_path_factory.getbasetemp(),
        "pytest",
        *("pytest==9.2.0", "pytest-json-report==1.5.0"),
    )
    report = "--json-report --json-report-file="
    run_command(f"pytest {report}full.json --junitxml=full.xml{FAILS}", programs, tests)
    keys = node_ids(tests / "full.json")
    assert keys == node_ids(tests / "full.xml")
    calibrated(tests, keys, "evals")
    asked = selected(tests, "pytest", 25, "evals")
    (option,) = [w for note in asked["notes"] for w in note.split() if w.startswith(report[14:])]
    option = option.replace("=", "=logs/")
    run_command(f"{asked['command']} --json-report {option}{FAILS}", programs, tests)
    check_recognised(tests, tests / "logs", asked)
