"""What a log leaves open, asked and answered."""

import pytest

from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.verdict_rule import VerdictRule, choose, read_counts, read_rules, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS
from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.harnesses.made_logs import sample, write_inspect_json


def test_nearer_answers_win():
    options = ReadOptions(
        given=VerdictRule(filter="f"),
        given_by_task={"t": VerdictRule(verdict="v")},
        stored={
            ("b", "h", "t"): VerdictRule(verdict="w", threshold=0.5, counts={"x": "fail"}),
            ("b", "h", ""): VerdictRule(question="q", threshold=0.1, counts={"y": "pass"}),
            ("other", "h", ""): VerdictRule(verdict="no"),
        },
        benchmark="b",
    )
    assert options.rule("h", "t") == VerdictRule(
        verdict="v", filter="f", threshold=0.5, question="q", counts={"x": "fail", "y": "pass"}
    )
    assert options.rule("h", "u") == VerdictRule(
        filter="f", threshold=0.1, question="q", counts={"y": "pass"}
    )
    assert ReadOptions(only_benchmark="b").rule("h", None).is_empty


def test_answers_for_one_task():
    given, by_task = read_rules(
        verdict=["acc", "mc=acc_norm"],
        filter_=[],
        threshold=["a=b=0.5"],
        question=["qid"],
        counts=["limit=fail"],
    )
    assert given == VerdictRule(verdict="acc", question="qid", counts={"limit": "fail"})
    assert by_task == {"mc": VerdictRule(verdict="acc_norm"), "a=b": VerdictRule(threshold=0.5)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"verdict": ["a", "b"]}, "--verdict is given twice"),
        ({"filter_": ["t=a", "t=b"]}, "twice for task 't'"),
        ({"threshold": ["x"]}, "not a number"),
        ({"threshold": ["inf"]}, "not a finite number"),
        ({"question": ["=x"]}, "names no task"),
        ({"counts": ["limit=maybe"]}, "STATE=pass"),
        ({"counts": ["=fail"]}, "STATE=pass"),
    ],
)
def test_answers_that_are_none(options, message):
    empty = {"verdict": [], "filter_": [], "threshold": [], "question": [], "counts": []}
    with pytest.raises(InputError, match=message):
        read_rules(**(empty | options))


def test_choices():
    assert choose("scorer", ["a"], None) == "a"
    assert choose("scorer", ["a", "b"], "b") == "b"
    with pytest.raises(InputError, match=r"several scorers: a, b; .* --verdict NAME"):
        choose("scorer", ["a", "b"], None)
    with pytest.raises(InputError, match="--filter t=NAME"):
        choose("filter", ["a", "b"], None, option="--filter", task="t")
    with pytest.raises(InputError, match="is 'alpha' meant"):
        choose("scorer", ["alpha", "beta"], "alfa")


def test_scores():
    outcomes = [score_outcome(v, None, where="q") for v in (1, 0.0, float("nan"))]
    assert outcomes == [PASS, FAIL, MISSING]
    assert [score_outcome(v, 0.5, where="q") for v in (0.5, 0.49, 2)] == [PASS, FAIL, PASS]
    with pytest.raises(InputError, match=r"q has the score 0.5.*--threshold"):
        score_outcome(0.5, None, where="q")


def test_counts():
    rule = VerdictRule(counts=read_counts(["limit=missing"]))
    assert rule.count("limit", FAIL) == MISSING
    assert rule.count("other", FAIL) == FAIL


def test_an_answer_refused_with_its_log_is_not_remembered(project):
    scores = {"grade": {"value": "C"}, "other": {"value": "maybe"}}
    path = write_inspect_json(project / "l.json", [sample("a", scores)])
    one_error_line(invoke("import", path, "--verdict", "other"))
    # The log would be read without a question now, had the answer been kept.
    two = {"grade": {"value": "C"}, "other": {"value": "I"}}
    path = write_inspect_json(project / "l.json", [sample("a", two)])
    assert "several scorers" in one_error_line(invoke("import", path))
