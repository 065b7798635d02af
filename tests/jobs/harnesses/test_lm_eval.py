"""Logs of lm-evaluation-harness."""

import json
import shlex

import pytest

from jobs.harnesses.lm_eval.reader import LM_EVAL
from jobs.harnesses.selection import SelectionContext
from recurring_eval.errors import InputError
from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.harnesses.made_logs import lm_eval_rows, write_lm_eval
from tests.jobs.harnesses.stored import bank, stored_reasons, stored_runs, stored_verdicts

DOCS = [{"qid": f"q{i}", "text": "t"} for i in range(4)]
STAMP = "2026-11-16T09-00-30.123456"


def odd(i: int, _filter: str, _metric: str) -> float:
    return float(i % 2)


def words(folder) -> list[dict[str, str]]:
    return [
        {key: word for (key, _), word in rows.items()} for rows in stored_verdicts(folder).values()
    ]


def test_documents_are_known_by_content_or_by_a_field(project):
    write_lm_eval(project / "m", {"task": lm_eval_rows(DOCS, odd)})
    outcome = invoke("import", project / "m")
    assert outcome.code == 0, outcome.err
    assert "--question FIELD takes a field of the documents, here one of qid" in outcome.err
    (rows,) = words(project)
    assert sorted(rows.values()) == ["fail", "fail", "pass", "pass"]
    assert all(len(key) == 64 for key in rows)
    ((name, run),) = stored_runs(project).items()
    assert name == "acme/m-2026-11-16T09:00:00.250000Z"
    assert (run["agent"], run["agent_config"]) == (
        "acme/m",
        "model=hf model_args=pretrained=acme/m",
    )
    assert (run["finished_at"] - run["started_at"]).total_seconds() == 30.5


def test_a_field_is_remembered(project):
    write_lm_eval(project / "1", {"task": lm_eval_rows(DOCS, odd)})
    assert invoke("import", project / "1", "--question", "qid").code == 0
    later = lm_eval_rows(DOCS, lambda i, *_: 1.0)
    write_lm_eval(project / "2", {"task": later}, date=1_794_906_000.0)
    assert invoke("import", project / "2").code == 0
    assert words(project) == [
        {"q0": "fail", "q1": "pass", "q2": "fail", "q3": "pass"},
        dict.fromkeys(["q0", "q1", "q2", "q3"], "pass"),
    ]
    error = one_error_line(invoke("import", project / "1", "--question", "doc.nothing"))
    assert "line 1: the document has no field 'doc.nothing'" in error


def test_filters_that_differ_are_asked_about(project):
    rows = lm_eval_rows(DOCS, lambda i, f, _: float(f == "b"), filters=("a", "b"))
    write_lm_eval(project / "m", {"task": rows})
    error = one_error_line(invoke("import", project / "m"))
    assert "several filters: a, b" in error
    assert "--filter task=NAME" in error
    assert invoke("import", project / "m", "--filter", "b").code == 0
    (found,) = words(project)
    assert set(found.values()) == {"pass"}
    assert len(found) == 4


def test_metrics(project):
    rows = lm_eval_rows(DOCS, lambda i, _, m: 3.5 if m == "ppl" else i % 2, metrics=("acc", "ppl"))
    write_lm_eval(project / "m", {"task": rows})
    assert "several metrics: acc, ppl" in one_error_line(invoke("import", project / "m"))
    lower = one_error_line(invoke("import", project / "m", "--verdict", "ppl"))
    assert "better when lower" in lower
    assert invoke("import", project / "m", "--verdict", "ppl", "--threshold", "4").code == 0
    (found,) = words(project)
    assert set(found.values()) == {"pass"}


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, "yes", 0.3])
def test_metrics_that_are_no_verdicts(project, value):
    write_lm_eval(project / "m", {"task": lm_eval_rows(DOCS, lambda *_: value)})
    error = one_error_line(invoke("import", project / "m"))
    assert "--verdict" in error or "--threshold" in error


def test_what_was_not_scored_is_missing(project):
    rows = lm_eval_rows(DOCS, lambda i, *_: None if i else 1)
    rows[1]["acc"] = float("nan")
    write_lm_eval(project / "m", {"task": rows})
    invoke("import", project / "m", "--question", "qid")
    assert set(stored_reasons(project).values()) == {"skipped: not scored"}
    assert words(project) == [{"q0": "pass", "q1": "missing", "q2": "missing", "q3": "missing"}]


def test_labels_out_of_order_are_not_believed(project):
    chosen = [DOCS[0], DOCS[2], DOCS[3]]
    rows = lm_eval_rows(chosen, odd, labels=[3, 0, 2])
    write_lm_eval(project / "m", {"task": rows})
    outcome = invoke("import", project / "m", "--question", "qid")
    assert "doc_id was ignored" in outcome.err
    assert words(project) == [{"q0": "fail", "q2": "pass", "q3": "fail"}]


def test_documents_alike_are_trials_of_one_question(project):
    rows = lm_eval_rows([DOCS[0], DOCS[0], DOCS[1]], odd)
    write_lm_eval(project / "m", {"task": rows})
    assert invoke("import", project / "m", "--question", "qid").code == 0
    assert stored_verdicts(project).popitem()[1] == {
        ("q0", 1): "fail",
        ("q0", 2): "pass",
        ("q1", 1): "fail",
    }


def test_a_run_of_several_tasks_under_one_name(project):
    tasks = {task: lm_eval_rows(DOCS, odd) for task in ("bio", "law")}
    write_lm_eval(project / "m", tasks)
    options = ("--benchmark", "exam", "--question", "qid")
    outcome = invoke("import", project / "m", *options)
    assert outcome.code == 0, outcome.err
    assert bank(project, "exam") == {f"{task}/q{i}" for task in tasks for i in range(4)}
    assert [len(rows) for rows in words(project)] == [8]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2 + 5], "is cut short in line"),
        (lambda text: "", "has no rows"),
        (lambda text: text.replace('"doc_id"', '"no"'), "line 1 is no sample of lm-eval"),
        (lambda text: text + "{\n", "line 5"),
        (lambda text: text + "[" * 200_000, "cut short in line 5"),
        (lambda text: text.replace('"doc_hash": "', '"doc_hash": "' + "x" * 3000), "characters"),
    ],
)
def test_damaged_samples(project, change, message):
    write_lm_eval(project / "m", {"task": lm_eval_rows(DOCS, odd)})
    path = project / "m" / f"samples_task_{STAMP}.jsonl"
    path.write_text(change(path.read_text()))
    for source in (path, project / "m"):
        assert message in one_error_line(invoke("import", source))
    assert stored_runs(project) == {}


def test_results_are_needed_and_not_enough(project):
    results = write_lm_eval(project / "m", {"task": lm_eval_rows(DOCS, odd)})
    samples = project / "m" / f"samples_task_{STAMP}.jsonl"
    assert invoke("import", samples, "--dry-run").code == 0
    moved = samples.rename(project / samples.name)
    assert "averages only" in one_error_line(invoke("import", project / "m"))
    assert "no results_<time>.json beside it" in one_error_line(invoke("import", moved))
    moved.rename(samples)
    results.write_text(results.read_text()[:80])
    error = one_error_line(invoke("import", project / "m"))
    assert f"the results beside it, {results.name}: is cut short" in error


def context(locators: dict[str, object]) -> SelectionContext:
    texts = {key: json.dumps(value) for key, value in locators.items()}
    return SelectionContext(benchmark="b", subset_id="b-k2-00c0ffee", locators=texts)


def test_a_selection_is_ascending_and_marked():
    places = {"x": ["bio", [9]], "y": ["law", [0, 4]], "z": ["bio", [2]], "other": ["bio", [1]]}
    found = LM_EVAL.selection(["x", "y", "z"], context(places))
    ((name, content),) = found.files.items()
    assert json.loads(content) == {"bio": [2, 9], "law": [0, 4]}
    parts = shlex.split(found.command)
    assert parts[parts.index("--tasks") + 1] == "bio,law"
    assert parts[parts.index("--samples") + 1] == name
    assert json.loads(parts[parts.index("--metadata") + 1]) == {"subset_id": "b-k2-00c0ffee"}
    assert "--log_samples" in parts


def test_a_selection_needs_positions():
    with pytest.raises(InputError, match=r"'q' is not known|among them 'q'"):
        LM_EVAL.selection(["q"], context({}))


def test_the_mark_comes_back_in_the_metadata_of_the_task(project):
    configs = {"task": {"metadata": {"version": 1.0, "subset_id": "task-k4-00c0ffee"}}}
    write_lm_eval(project / "m", {"task": lm_eval_rows(DOCS, odd)}, configs=configs)
    error = one_error_line(invoke("import", project / "m"))
    assert "the history has no subset 'task-k4-00c0ffee'" in error
