"""`recurring-eval subset --format TOOL` and the log that comes back."""

import json

import pytest

from jobs.harnesses.registry import selections
from tests.jobs.command_line import invoke, one_error_line
from tests.jobs.harnesses.made_logs import sample, swebench_report, write_inspect_json
from tests.jobs.harnesses.stored import stored_runs

K = ("subset", "--k", "20")


def test_formats_are_listed(calibrated):
    error = one_error_line(invoke(*K, "--format", "inspct"))
    assert all(name in error for name in ("ids", "json", *selections()))


def test_inspect(calibrated):
    plain = invoke(*K, "--json").document
    told = invoke(*K, "--format", "inspect", "--files", "sel")
    label = f"subset.{plain['subset_id']}"
    assert told.out.strip() == f"inspect eval TASK_FILE --run-config sel/{label}.json"
    config = json.loads((calibrated / "sel" / f"{label}.json").read_text())
    assert config["eval_config"]["sample_id"] == plain["question_ids"]
    # The log carries the mark; nobody says which subset it was.
    spec = {"task": "bench", "tags": config["tags"], "created": "2025-03-18T09:00:00+00:00"}
    returned = [sample(key) for key in plain["question_ids"][1:]]
    outcome = invoke("import", write_inspect_json(calibrated / "l.json", returned, spec=spec))
    assert outcome.code == 0, outcome.err
    assert f"1 questions not returned of subset {plain['subset_id']}" in outcome.err
    run = stored_runs(calibrated)["eval-1"]
    assert (run["kind"], run["subset_id"], run["tags"]) == ("partial", plain["subset_id"], [])
    extra = {"metadata": {"subset_id": plain["subset_id"]}, "eval_id": "e2", "task_id": "t2"}
    path = write_inspect_json(
        calibrated / "2.json",
        [sample(key) for key in plain["question_ids"]],
        spec={"task": "bench", "created": "2025-03-19T09:00:00+00:00"} | extra,
    )
    assert invoke("import", path).code == 0
    assert stored_runs(calibrated)["e2"]["subset_id"] == plain["subset_id"]


def test_swebench(calibrated):
    told = invoke(*K, "--format", "swebench", "--json").document
    label = f"subset.{told['subset_id']}"
    assert f" -id {label} " in told["command"]
    ids = told["question_ids"]
    report = swebench_report(completed=ids, resolved=ids[:5], unresolved=ids[5:])
    path = calibrated / f"acme__x-v1.0.{label}.r2.json"
    path.write_text(json.dumps(report))
    outcome = invoke("import", path)
    assert outcome.code == 0, outcome.err
    (run,) = [r for r in stored_runs(calibrated).values() if r["agent"] == "acme/x-v1.0"]
    assert run["subset_id"] == told["subset_id"]


def test_lm_eval_needs_positions(calibrated):
    error = one_error_line(invoke(*K, "--format", "lm-eval"))
    assert "the position in the dataset of 20 questions is not known" in error


@pytest.mark.parametrize("tool", sorted(selections()))
def test_files_that_cannot_be_written(calibrated, tool):
    (calibrated / "taken").write_text("")
    error = one_error_line(invoke(*K, "--format", tool, "--files", "taken/x"))
    told = ("cannot be written", "is not known", "cannot run 20 chosen ones")
    assert any(text in error for text in told)
