"""Logs of Inspect AI in all their states."""

import json

import pytest

from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.harnesses.made_logs import (
    DEFLATED,
    STORED,
    ZSTANDARD,
    eval_bytes,
    sample,
    write_eval,
    write_inspect_json,
    zip_bytes,
)
from tests.jobs.harnesses.stored import bank, stored_reasons, stored_runs, stored_verdicts


def only_run(folder) -> dict[tuple[str, int], str]:
    (verdicts,) = stored_verdicts(folder).values()
    return verdicts


def file_report(outcome) -> dict[str, object]:
    (report,) = outcome.document["files"]
    return report


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
def test_archives_of_any_compression(project, method):
    samples = [sample("a"), sample("b", "I"), sample(7, "C"), sample("é/x: y", "I", 2)]
    path = write_eval(project / "renamed.zip", samples, method=method)
    assert invoke("import", path).code == 0
    assert only_run(project) == {
        ("a", 1): "pass",
        ("b", 1): "fail",
        ("7", 1): "pass",
        ("é/x: y", 2): "fail",
    }
    (run,) = stored_runs(project).values()
    assert run["started_at"].isoformat() == "2026-11-16T09:00:00+00:00"


def test_ids_keep_their_type(project):
    samples = [sample(7), sample("7", "I"), sample("007", "I"), sample("7.0")]
    invoke("import", write_inspect_json(project / "log.json", samples))
    assert only_run(project) == {
        ("7", 1): "pass",
        ('"7"', 1): "fail",
        ("007", 1): "fail",
        ("7.0", 1): "pass",
    }


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"error": "RuntimeError('x')\nTraceback"}, "error: RuntimeError('x')"),
        ({"error": {"message": "boom", "traceback": "..."}}, "error: boom"),
        ({"error": "CancelledError('y')"}, "not run"),
        ({"scores": {"grade": {"value": float("nan")}}}, "error: no score"),
        ({"scores": {"grade": {"value": None, "reason": "grader_failed"}}}, "error: grader_failed"),
        ({"scores": {}}, "skipped: not scored"),
        ({"scores": None}, "skipped: not scored"),
        ({"invalidation": {"author": "r"}}, "invalidated"),
        ({"error": "E", "scores": {"grade": {"value": "C"}}}, "error: E"),
    ],
)
@pytest.mark.parametrize("write", [write_eval, write_inspect_json])
def test_what_is_missing_and_why(project, write, facts, reason):
    bad = sample("b") | facts
    archive = {} if write is write_inspect_json else {"whole": [sample("a"), bad]}
    path = write(
        project / "log.eval" if archive else project / "log.json",
        [sample("a"), bad],
        status="error",
        invalidated="invalidation" in facts,
        **archive,
    )
    assert invoke("import", path).code == 0
    assert stored_reasons(project) == {("b", 1): reason}


def test_a_sample_stopped_by_a_limit_was_scored(project):
    stopped = [sample("a", limit="message"), sample("b", "I", limit={"type": "time"})]
    samples = [*stopped, sample("c")]
    path = write_inspect_json(project / "log.json", samples)
    invoke("import", path)
    assert only_run(project) == {("a", 1): "pass", ("b", 1): "fail", ("c", 1): "pass"}
    assert "--replace" in one_error_line(invoke("import", path, "--count", "limit=missing"))
    assert invoke("import", path, "--count", "limit=fail", "--replace").code == 0
    assert only_run(project) == {("a", 1): "fail", ("b", 1): "fail", ("c", 1): "pass"}


@pytest.mark.parametrize(
    ("value", "word"),
    [
        *[("C", "pass"), ("I", "fail"), ("N", "fail"), ("P", "fail"), (1, "pass"), (0.0, "fail")],
        *[(True, "pass"), ("yes", "pass"), ("No", "fail"), ("1.0", "pass")],
    ],
)
def test_values_that_are_verdicts(project, value, word):
    invoke("import", write_inspect_json(project / "l.json", [sample("a", value), sample("b")]))
    assert only_run(project)["a", 1] == word


@pytest.mark.parametrize("value", ["CORRECT", "c", 0.5, 85, {"x": 1, "y": 0}, [1, 0], "maybe"])
def test_values_that_are_no_verdicts_are_asked_about(project, value):
    path = write_inspect_json(project / "l.json", [sample("a", value), sample("b", value)])
    error = one_error_line(invoke("import", path))
    assert str(path) in error
    assert "--threshold" in error or "--verdict" in error
    assert stored_runs(project) == {}


def test_a_threshold_is_remembered(project):
    first = write_inspect_json(project / "1.json", [sample("a", 0.7), sample("b", 0.2)])
    assert invoke("import", first, "--threshold", "0.5").code == 0
    later = [sample("a", 0.4), sample("b", 0.9)]
    spec = {"eval_id": "eval-2", "task_id": "task-2"}
    second = write_inspect_json(project / "2.json", later, spec=spec)
    assert invoke("import", second).code == 0
    assert stored_verdicts(project) == {
        "eval-1": {("a", 1): "pass", ("b", 1): "fail"},
        "eval-2": {("a", 1): "fail", ("b", 1): "pass"},
    }
    third = write_inspect_json(project / "3.json", later, spec={"eval_id": "e", "task_id": "t"})
    changed = invoke("import", third, "--threshold", "0.95")
    assert "threshold" in changed.err
    assert "'0.5' until now" in changed.err


def two_scorers(a: object, b: object) -> dict[str, object]:
    return {"grade": {"value": a}, "other": {"value": b}}


def test_several_scorers(project):
    samples = [sample("a", two_scorers("C", "I")), sample("b", two_scorers("I", "I"))]
    path = write_inspect_json(project / "l.json", samples)
    error = one_error_line(invoke("import", path))
    assert "several scorers: grade, other" in error
    assert "--verdict" in error
    assert "'othr'" in one_error_line(invoke("import", path, "--verdict", "othr"))
    assert invoke("import", path, "--verdict", "other").code == 0
    assert set(only_run(project).values()) == {"fail"}
    # Remembered, so that a new run is read the same way unasked.
    again = write_inspect_json(project / "2.json", samples, spec={"eval_id": "e2", "task_id": "t2"})
    assert invoke("import", again).code == 0
    assert set(stored_verdicts(project)["e2"].values()) == {"fail"}


def test_the_headline_or_the_only_verdict_needs_no_question(project):
    headline = {"headline": {"scorer": "other", "score": "other", "metric": "accuracy"}}
    samples = [sample("a", two_scorers("I", "C"))]
    invoke("import", write_inspect_json(project / "1.json", samples, results=headline))
    assert only_run(project) == {("a", 1): "pass"}
    numbers = [sample("a", two_scorers("I", 1.0)), sample("b", two_scorers("C", 0.3))]
    spec = {"task": "t2", "eval_id": "e2", "task_id": "t2"}
    path = write_inspect_json(project / "2.json", numbers, spec=spec)
    assert "scorer 'grade'" in invoke("import", path, "--create").err
    assert stored_verdicts(project)["e2"] == {("a", 1): "fail", ("b", 1): "pass"}


def test_a_part_of_a_score(project):
    value = {"style": 1, "facts": 0}
    path = write_inspect_json(project / "l.json", [sample("a", value), sample("b", value)])
    assert "grade.style, grade.facts" in one_error_line(invoke("import", path))
    assert invoke("import", path, "--verdict", "grade.facts").code == 0
    assert set(only_run(project).values()) == {"fail"}


def test_a_killed_run_is_partial_and_can_grow(project):
    asked = ["a", "b", "c", "d"]
    done = [sample("a"), sample("b", "I")]
    path = write_eval(project / "l.eval", done, killed=True, asked=asked)
    report = file_report(invoke("import", path, "--json"))
    assert (report["status"], report["verdicts"]) == ("partial", 2)
    assert "killed" in report["reason"]
    assert "2 of 4" in report["reason"]
    assert bank(project, "qa") == set(asked)
    write_eval(path, [*done, sample("c"), sample("d", error="E")], asked=asked)
    report = file_report(invoke("import", path, "--json"))
    assert report["status"] == "extended"
    assert only_run(project) == {
        ("a", 1): "pass",
        ("b", 1): "fail",
        ("c", 1): "pass",
        ("d", 1): "missing",
    }


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_a_retry_extends_the_run_it_retries(project, order):
    first = [sample("a"), sample("b", error="E"), sample("c", error="CancelledError()")]
    second = [sample("a"), sample("b", "I"), sample("c", "C"), sample("d", "I")]
    asked = ["a", "b", "c", "d"]
    write_eval(project / "first.eval", first, status="error", asked=asked)
    retried = {"eval_id": "eval-2", "created": "2026-11-18T09:00:00+00:00"}
    write_eval(project / "second.eval", second, asked=asked, spec=retried)
    for name in order:
        outcome = invoke("import", project / f"{name}.eval", "--json")
        assert outcome.code == 0, outcome.err
    assert only_run(project) == {
        ("a", 1): "pass",
        ("b", 1): "fail",
        ("c", 1): "pass",
        ("d", 1): "fail",
    }
    again = invoke("import", project / "first.eval", project / "second.eval", "--json").document
    assert [file["status"] for file in again["files"]] == ["already there"] * 2
    assert len(only_run(project)) == 4


def test_the_same_log_as_archive_and_json_is_one_run(project):
    samples = [sample("a"), sample("b", "I")]
    write_eval(project / "l.eval", samples)
    write_inspect_json(project / "l.json", samples)
    document = invoke("import", project, "--json").document
    logs = {f["path"].rpartition("/")[2]: f["status"] for f in document["files"] if f["runs"]}
    assert logs == {"l.eval": "imported", "l.json": "already there"}


def test_an_edited_score_needs_replace(project):
    path = write_eval(project / "l.eval", [sample("a"), sample("b")])
    invoke("import", path)
    write_eval(path, [sample("a", "I"), sample("b")])
    assert "--replace" in one_error_line(invoke("import", path))
    assert only_run(project)["a", 1] == "pass"
    write_eval(
        path,
        [sample("a"), sample("b")],
        invalidated=True,
        whole=[sample("a"), sample("b", invalidation={"author": "r"})],
    )
    assert "--replace" in one_error_line(invoke("import", path))
    assert invoke("import", path, "--replace").code == 0
    assert only_run(project) == {("a", 1): "pass", ("b", 1): "missing"}


def test_epochs_are_trials(project):
    samples = [sample("a", value, epoch) for epoch, value in enumerate("CIC", start=1)]
    invoke("import", write_eval(project / "l.eval", samples))
    assert only_run(project) == {("a", 1): "pass", ("a", 2): "fail", ("a", 3): "pass"}


def test_two_tasks_in_one_benchmark_keep_their_ids_apart(project):
    for task in ("one", "two"):
        spec = {"task": task, "eval_id": f"eval-{task}", "task_id": task}
        write_eval(project / f"{task}.eval", [sample("a"), sample(1)], spec=spec)
    assert invoke("import", project / "one.eval", "--benchmark", "b").code == 0
    outcome = invoke("import", project / "two.eval", "--benchmark", "b", "--extend-bank")
    assert outcome.code == 0, outcome.err
    assert bank(project, "b") == {"a", "1", "two/a", "two/1"}
    again = invoke("import", project, "--benchmark", "b", "--json").document
    assert again["runs_added"] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut or damaged zip archive"),
        (b"PK\x03\x04", "cut or damaged zip archive"),
        (eval_bytes([sample("a")])[:-30], "cut or damaged zip archive"),
        (zip_bytes([("other.json", b"{}")]), "without header.json"),
        (zip_bytes([("header.json", b"{}"), ("summaries.json", b"[]")]), "no log of Inspect AI"),
        (zip_bytes([("header.json", b'{"a": ')]), "member 'header.json' is cut short"),
        (zip_bytes([("header.json", b"{}"), ("../../x", b"")]), "outside the archive: '../../x'"),
        (zip_bytes([("header.json", b"{}"), ("/etc/x", b"")]), "outside the archive: '/etc/x'"),
        (
            zip_bytes([("header.json", b"{}"), ("summaries.json", b"[]" * (20 << 20))]),
            "times its size",
        ),
        (
            zip_bytes([("header.json", b"{}")], promised={"header.json": 0xC0000000}),
            "at most 1,024 MB",
        ),
        (zip_bytes([("header.json", b" " * 900 + b"{}")], promised={"header.json": 9}), "longer"),
        (eval_bytes([sample("a", error="E")]), "no valid verdict"),
        (eval_bytes([]), "has no verdict"),
        (eval_bytes([sample("x" * 3000)]), "has 3,000 characters"),
        (eval_bytes([sample(10**90)]), "more than 77 digits"),
        (eval_bytes([sample(1.5)]), "is a float"),
        (eval_bytes([sample("a", epoch="one")]), "which is no number"),
        (eval_bytes([sample("")]), "empty id"),
        (eval_bytes([sample("a\ud800")]), "unreadable character"),
        (
            zip_bytes([("header.json", b"{}"), ("summaries.json", b"[" * 200_000)]),
            "nested too deeply",
        ),
    ],
)
def test_damaged_or_hostile_archives_are_refused_with_one_line(project, content, message):
    path = project / "l.eval"
    path.write_bytes(content)
    assert message in one_error_line(invoke("import", path))
    assert message in one_error_line(invoke("import", project, "--json"))
    assert stored_runs(project) == {}


def test_a_header_without_samples_names_the_file_to_take(project):
    path = write_inspect_json(project / "l.json", [sample("a")])
    header = json.loads(path.read_text())
    del header["samples"]
    path.write_text(json.dumps(header))
    assert "import the .eval file" in one_error_line(invoke("import", path))


def test_one_bad_log_stops_no_other(project):
    write_eval(project / "good.eval", [sample("a")])
    (project / "bad.eval").write_bytes(eval_bytes([sample("a")])[:100])
    outcome = invoke("import", project, "--json")
    assert outcome.code == 1
    words = {f["path"].rpartition("/")[2]: f["status"] for f in outcome.document["files"]}
    assert (words["good.eval"], words["bad.eval"]) == ("imported", "refused")
    assert "bad.eval" in one_error_line(outcome)


def test_a_task_goes_where_its_runs_went_before(project):
    first = write_eval(project / "1.eval", [sample("a", 0.7), sample("b", 0.2)])
    options = ("--benchmark", "support", "--threshold", "0.5")
    assert invoke("import", first, *options).code == 0
    spec = {"eval_id": "eval-2", "task_id": "task-2"}
    second = write_eval(project / "2.eval", [sample("a", 0.1), sample("b", 0.9)], spec=spec)
    outcome = invoke("import", second)
    assert outcome.code == 0, outcome.err
    assert stored_verdicts(project)["eval-2"] == {("a", 1): "fail", ("b", 1): "pass"}
    assert bank(project, "support") == {"a", "b"}
