"""OpenAI evals, DeepEval, HAL, HELM, MLflow, Phoenix and Langfuse, made small."""

import json
import shlex
from typing import Any

import pytest

from jobs.harnesses.registry import selections
from recurring_eval.errors import InputError
from tests.jobs.harnesses.reading import SUBSET, context, read_log, read_run, refusal, words, write


def events(*told: tuple[str, str, dict[str, Any]], ended: bool = True) -> list[dict[str, Any]]:
    spec = {"eval_name": "qa.dev.v0", "run_id": "R1", "completion_fns": ["m"]}
    lines: list[dict[str, Any]] = [{"spec": spec | {"created_at": "2026-11-16 09:00:00.0"}}]
    lines += [
        {"run_id": "R1", "event_id": i, "sample_id": s, "type": kind, "data": data}
        for i, (s, kind, data) in enumerate(told)
    ]
    return [*lines, {"final_report": {"accuracy": 1}}] if ended else lines


RIGHT, WRONG = {"correct": True}, {"correct": False}


def test_openai_evals(tmp_path):
    lines = events(
        ("a", "sampling", {}), ("a", "match", RIGHT), ("b", "match", WRONG), ("c", "error", {})
    )
    run = read_run(write(tmp_path / "x.jsonl", lines), "openai-evals")
    assert words(run) == {"a": "pass", "b": "fail", "c": "missing"}
    assert (run.run_key, run.benchmark, run.agent) == ("R1", "qa.dev.v0", "m")
    assert str(run.started_at) == "2026-11-16 09:00:00+00:00"


def test_several_matches_are_asked(tmp_path):
    path = write(tmp_path / "x.jsonl", events(("a", "match", RIGHT), ("a", "match", WRONG)))
    assert "any, all, last; name the one that decides with --filter" in refusal(
        path, "openai-evals"
    )
    told = {f: words(read_run(path, "openai-evals", filter=f))["a"] for f in ("any", "all", "last")}
    assert told == {"any": "pass", "all": "fail", "last": "fail"}


def test_metrics_of_a_model_graded_eval(tmp_path):
    lines = events(
        ("a", "metrics", {"choice": "Y", "score": 1.0}), ("b", "metrics", {"score": 0.0})
    )
    path = write(tmp_path / "x.jsonl", lines)
    assert words(read_run(path, "openai-evals")) == {"a": "pass", "b": "fail"}


def test_openai_evals_that_were_killed(tmp_path):
    lines = events(("a", "match", RIGHT), ("b", "sampling", {}), ended=False)
    path = write(tmp_path / "x.jsonl", lines)
    path.write_text(path.read_text() + '{"run_id": "R1", "sam')
    log = read_log(path, "openai-evals")
    assert log.partial == "the run was killed: 1 of its samples have a result"
    assert words(log.runs[0]) == {"a": "pass"}
    assert log.runs[0].question_ids == ("a", "b")


def deepeval_case(name: str, *metrics: dict[str, Any], success: bool = True) -> dict[str, Any]:
    return {
        "name": name,
        "input": f"about {name}",
        "success": success,
        "metricsData": list(metrics),
        "runDuration": 0.25,
    }


def test_deepeval(tmp_path):
    good, bad = {"name": "A", "success": True, "score": 0.9}, {"name": "B", "success": False}
    document = {
        "testCases": [
            deepeval_case("x", good),
            deepeval_case("y", good, bad, success=False),
            deepeval_case("z", {"name": "A", "error": "timed out"}, success=False),
            deepeval_case("test_case_3", good),
        ],
        "conversationalTestCases": [deepeval_case("talk", good)],
        "metricsScores": [],
        "identifier": f"subset.{SUBSET}",
    }
    path = write(tmp_path / "test_run_20261116_090000.json", document)
    run = read_run(path, "deepeval", timezone="Europe/Berlin")
    found = words(run)
    (hashed,) = [key for key in found if key.startswith("input-")]
    assert found == {
        "x": "pass",
        "y": "fail",
        "z": "missing",
        hashed: "pass",
        "talk": "pass",
    }
    assert run.reasons == ("timeout: timed out",)
    assert run.subset_id == SUBSET
    assert str(run.started_at) == "2026-11-16 08:00:00+00:00"
    assert words(read_run(path, "deepeval", verdict="A"))["y"] == "pass"


def hal(raw: object, **results: Any) -> dict[str, Any]:
    config = {"agent_name": "agent", "benchmark_name": "usaco", "date": "2026-11-16"}
    config |= {"run_id": "usaco_agent_1794819600", "agent_args": {"model_name": "m"}}
    return {"config": config, "results": results, "raw_eval_results": raw}


@pytest.mark.parametrize(
    "raw",
    [
        {"a": {"reward": 1.0}, "b": {"score": 0}, "c": "ERROR: crashed"},
        {"a": 1.0, "b": 0, "c": "ERROR: crashed"},
        {"a": True, "b": False, "c": "ERROR: crashed"},
        {"resolved_ids": ["a"], "unresolved_ids": ["b"], "error_ids": ["c"]},
    ],
)
def test_hal(tmp_path, raw):
    run = read_run(write(tmp_path / "x_UPLOAD.json", hal(raw)), "hal")
    assert words(run) == {"a": "pass", "b": "fail", "c": "missing"}
    assert (run.benchmark, run.agent, run.agent_config) == ("usaco", "agent", "model=m")
    assert str(run.started_at) == "2026-11-16 09:00:00+00:00"


def test_hal_lists_win_over_scores_between(tmp_path):
    raw = {"a": {"score": 0.7}, "b": {"score": 0.7}}
    document = hal(raw, successful_tasks=["a"], failed_tasks=["b"])
    path = write(tmp_path / "x.json", document)
    assert words(read_run(path, "hal")) == {"a": "pass", "b": "fail"}
    assert "--threshold" in refusal(write(tmp_path / "x.json", hal(raw)), "hal")


def helm_row(instance: str, trial: int = 0, **means: float) -> dict[str, Any]:
    stats = [
        {"name": {"name": name, "split": "test"}, "mean": mean} for name, mean in means.items()
    ]
    return {"instance_id": instance, "train_trial_index": trial, "stats": stats}


def test_helm(tmp_path):
    folder = tmp_path / "runs" / "v1" / "mmlu:subject=math,model=acme_m"
    rows = [
        helm_row("id0", exact_match=1.0, num_prompt_tokens=1.0),
        helm_row("id0", 1, exact_match=0.0, num_prompt_tokens=1.0),
        helm_row("id1", exact_match=1.0, num_prompt_tokens=1.0),
        helm_row("id1", exact_match=0.0) | {"perturbation": {"name": "typos"}},
    ]
    write(folder / "run_spec.json", {"name": folder.name, "adapter_spec": {"model": "acme/m"}})
    state = {"request_states": [{"result": {"request_datetime": 1_794_819_600}}]}
    write(folder / "scenario_state.json", state)
    path = write(folder / "per_instance_stats.json", rows)
    run = read_run(tmp_path, "helm")
    assert words(run) == {"id0": "pass fail", "id1": "pass"}
    assert (run.benchmark, run.agent) == ("mmlu:subject=math", "acme/m")
    assert run.run_key == "v1/mmlu:subject=math,model=acme_m"
    assert str(run.started_at) == "2026-11-16 09:00:00+00:00"
    write(path, [helm_row("id0", exact_match=1.0, quasi_exact_match=1.0)])
    assert "several statistics: exact_match, quasi" in refusal(tmp_path, "helm")


def test_mlflow_run_of_the_folder(tmp_path):
    run_id = "1c5f9397fd084445bc94ed2d1a84fdcd"
    table = {"columns": ["inputs", "ok/score"], "data": [["x", 1], ["y", 0], ["z", None]]}
    path = write(tmp_path / run_id / "artifacts" / "eval_results_table.json", table)
    run = read_run(path, "mlflow")
    assert run.run_key == run_id
    assert sorted(words(run).values()) == ["fail", "missing", "pass"]


def test_mlflow_asks_which_metric(tmp_path):
    table = {"columns": ["qid", "a/score", "b/score"], "data": [["x", 1, 0]]}
    path = write(tmp_path / "t.json", table)
    assert "several metrics: a, b" in refusal(path, "mlflow")
    assert words(read_run(path, "mlflow", verdict="b/score")) == {"x": "fail"}


def phoenix_run(example: str, repetition: int = 1, **facts: Any) -> dict[str, Any]:
    return {
        "id": f"{example}-{repetition}",
        "dataset_example_id": example,
        "repetition_number": repetition,
        "start_time": "2026-11-16T09:00:00Z",
        "end_time": "2026-11-16T09:00:04Z",
    } | facts


def test_phoenix(tmp_path):
    results = {"e1-1": {"score": 1.0}, "e1-2": {"label": "incorrect"}}
    evaluations = [
        {"experiment_run_id": key, "name": "grade", "result": result}
        for key, result in results.items()
    ]
    document = {
        "experiment_id": "X1",
        "dataset_id": "D1",
        "experiment_metadata": {"subset_id": SUBSET, "agent": "a"},
        "task_runs": [
            phoenix_run("e1"),
            phoenix_run("e1", 2),
            phoenix_run("e2", error="timeout"),
        ],
        "evaluation_runs": evaluations,
    }
    run = read_run(write(tmp_path / "x.json", document), "phoenix")
    assert words(run) == {"e1": "pass fail", "e2": "missing"}
    assert (run.run_key, run.benchmark, run.agent, run.subset_id) == ("X1", "D1", "a", SUBSET)
    assert run.duration_s[0] == 4.0


def test_phoenix_export_of_the_server(tmp_path):
    records = [
        {
            "example_id": name,
            "repetition_number": 1,
            "start_time": "2026-11-16T09:00:00Z",
            "error": None,
            "annotations": [{"name": "grade", "label": label, "score": None}],
        }
        for name, label in (("e1", "correct"), ("e2", "partly"))
    ]
    path = write(tmp_path / "x.json", records)
    assert "--count partly=pass" in refusal(path, "phoenix")
    run = read_run(path, "phoenix", counts={"partly": "fail"})
    assert words(run) == {"e1": "pass", "e2": "fail"}


def test_langfuse(tmp_path):
    items = [
        {"datasetItemId": f"i{n}", "traceId": f"t{n}", "createdAt": "2026-11-16T09:00:00Z"}
        for n in range(4)
    ]
    run_file = {"name": f"subset.{SUBSET}", "datasetName": "faq", "datasetRunItems": items}
    kinds = {"t0": (1, "NUMERIC"), "t1": (0, "BOOLEAN"), "t2": (None, "CATEGORICAL")}
    scores = [
        {"traceId": t, "name": "ok", "value": value, "dataType": kind, "stringValue": "correct"}
        if kind == "CATEGORICAL"
        else {"traceId": t, "name": "ok", "value": value, "dataType": kind}
        for t, (value, kind) in kinds.items()
    ]
    write(tmp_path / "run.json", run_file)
    write(tmp_path / "scores.json", {"data": scores, "meta": {}})
    run = read_run(tmp_path, "langfuse")
    # An item without a score is missing.
    assert words(run) == {"i0": "pass", "i1": "fail", "i2": "pass", "i3": "missing"}
    assert (run.benchmark, run.subset_id) == ("faq", SUBSET)


IDS = ["plain", "7", '"7"', "größe"]


@pytest.mark.parametrize("tool", ["deepeval", "mlflow", "phoenix", "langfuse"])
def test_ids_for_a_filter_of_ones_own(tool):
    found = selections()[tool](IDS, context(folder="out"))
    ((name, content),) = found.files.items()
    assert json.loads(content) == ["plain", 7, "7", "größe"]
    assert f"QUESTION_IDS=out/{name}" in shlex.split(found.command)
    assert any(f"subset.{SUBSET}" in note for note in found.notes)


@pytest.mark.parametrize("tool", ["openai-evals", "helm"])
def test_positions_cannot_be_selected(tool):
    with pytest.raises(InputError, match="cannot run 4 chosen ones"):
        selections()[tool](IDS, context())


def test_hal_selection():
    found = selections()["hal"](["a b", "c"], context(task="usaco"))
    assert shlex.split(found.command) == [
        *("hal-eval", "--benchmark", "usaco", "--run_id", f"subset.{SUBSET}", "--task_ids=a b,c")
    ]
    with pytest.raises(InputError, match="'x,y' cannot be named"):
        selections()["hal"](["x,y"], context())
