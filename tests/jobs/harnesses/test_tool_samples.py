"""The sample logs of real tools, through the command line, as they were planned."""

import json

import pytest

from tests.jobs.command_line import Outcome, invoke
from tests.jobs.harnesses.stored import bank, cells, stored_runs, stored_verdicts
from tests.shared_data import shared_path

SAMPLES = "harness/samples"


def planned(tool: str) -> dict:
    return json.loads(shared_path(f"{SAMPLES}/{tool}/EXPECTED.json").read_text())


def imported(tool: str, *options: str) -> Outcome:
    return invoke("import", shared_path(f"{SAMPLES}/{tool}"), *options, "--json")


def statuses(outcome: Outcome) -> dict[str, str]:
    """Status by file name; the path of each file is in exactly one report."""
    files = outcome.document["files"]
    assert len({file["path"] for file in files}) == len(files)
    return {file["path"].rpartition("/samples/")[2]: file["status"] for file in files}


def check_second_import(folder, tool: str, *options: str) -> None:
    before = stored_verdicts(folder), stored_runs(folder)
    again = imported(tool, *options)
    assert (again.document["runs_added"], again.document["verdicts_added"]) == (0, 0)
    assert set(statuses(again).values()) <= {"already there", "part", "skipped", "refused"}
    assert (stored_verdicts(folder), stored_runs(folder)) == before


def test_inspect(project):
    expected = planned("inspect")
    outcome = imported("inspect")
    assert outcome.code == 0, outcome.err
    found = stored_verdicts(project)
    logs = {name: log for name, log in expected.items() if isinstance(log, dict)}
    assert found == {log["eval_id"]: cells(log["samples"]) for log in logs.values()}
    runs = stored_runs(project)
    for log in logs.values():
        run = runs[log["eval_id"]]
        assert run["started_at"].isoformat() == log["created"]
        assert sorted(run["tags"]) == sorted(log["tags"])
        assert f"agent_version={log['metadata']['agent_version']}" in run["agent_config"]
    # A run that was stopped still knows what it was asked.
    assert len(bank(project, "support_qa")) == 60
    by_file = {name.rpartition("/")[2]: word for name, word in statuses(outcome).items()}
    for name, log in logs.items():
        # The log of 21 November lies there twice, compressed in two ways.
        if log["status"] == "success":
            assert by_file[name] == "imported"
    partial = [file for file in outcome.document["files"] if file["status"] == "partial"]
    reasons = sorted(file["reason"] for file in partial)
    assert reasons == [
        "the run stopped at an error: 28 of 60 samples are in the log",
        "the run was cancelled: 20 of 60 samples are in the log",
    ]
    assert list(statuses(outcome).values()).count("already there") == 1
    check_second_import(project, "inspect")


def test_lm_eval(project):
    expected = planned("lm_eval")
    options = ("--question", "doc.qid")
    outcome = imported("lm_eval", *options)
    # The filters agree everywhere; acc and acc_norm differ in one log, which asks.
    error = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(error) == 1
    assert (
        "samples_local_mc_2026-11-29T18-58-17.349174.jsonl: has several metrics: acc, acc_norm;"
        in (error[0])
    )
    assert "--verdict local_mc=NAME" in error[0]
    answered = imported("lm_eval", "--verdict", "local_mc=acc")
    assert answered.code == 0, answered.err
    assert answered.document["runs_added"] == 1
    by_task: dict[str, list[dict[str, str]]] = {}
    for log in expected.values():
        rows = {sample["qid"]: sample["verdict"] for sample in log["samples"]}
        by_task.setdefault(log["task"], []).append(rows)
    found: dict[str, list[dict[str, str]]] = {"local_gen": [], "local_mc": []}
    with_trials = stored_verdicts(project)
    for rows in with_trials.values():
        assert {trial for _, trial in rows} == {1}
        for task, prefix in (("local_gen", "geo"), ("local_mc", "mc")):
            mine = {key: word for (key, _), word in rows.items() if key.startswith(prefix)}
            found[task] += [mine] if mine else []

    def in_order(runs):
        return sorted(runs, key=lambda rows: (len(rows), json.dumps(rows, sort_keys=True)))

    assert {task: in_order(runs) for task, runs in found.items()} == {
        task: in_order(runs) for task, runs in by_task.items()
    }
    check_second_import(project, "lm_eval")


def test_lm_eval_tasks_in_one_benchmark(project):
    # Under one benchmark's name, documents keep apart by their task.
    options = ("--benchmark", "lm", "--question", "doc.qid", "--verdict", "local_mc=acc")
    outcome = imported("lm_eval", *options)
    assert outcome.code == 0, outcome.err
    keys = bank(project, "lm")
    assert len(keys) == 70
    assert {key.rpartition("/")[0] for key in keys} == {"local_gen", "local_mc"}
    assert sorted(len(rows) for rows in stored_verdicts(project).values()) == [7, 7, 70, 70, 70]
    check_second_import(project, "lm_eval", "--benchmark", "lm")


def test_swebench(project):
    expected = planned("swebench")
    options = ("--benchmark", "swe-bench")
    outcome = imported("swebench", *options)
    assert outcome.code == 0, outcome.err
    found = stored_verdicts(project)
    for name, report in expected.items():
        if "instances" in report:
            run = name.removesuffix(".json")
            assert {key: word for (key, _), word in found[run].items()} == {
                key: entry["verdict"] for key, entry in report["instances"].items()
            }
            assert stored_runs(project)[run]["agent"] == report["model"]
    nightly = expected["acme__agent-v1.3.nightly-2026-11-16.json"]["instances"]
    # The same verdicts in the leaderboard's form, which does not list what failed.
    leaderboard = {key: word for (key, _), word in found["20261101_acme-agent"].items()}
    passed = {key for key, word in leaderboard.items() if word == "pass"}
    assert passed == {key for key, entry in nightly.items() if entry["verdict"] == "pass"}
    missing = {key for key, word in leaderboard.items() if word == "missing"}
    assert missing == {key for key, entry in nightly.items() if entry["verdict"] == "missing"}
    details = {key: word for (key, _), word in found["bash-only_mini"].items()}
    assert {key for key, word in details.items() if word == "pass"} == passed
    # The instances' own reports agree with the run's, the damaged one among them.
    folder = "swebench/logs/run_evaluation/nightly-2026-11-16/acme__agent-v1.3"
    assert statuses(outcome)[folder] == "already there"
    assert statuses(outcome)[f"{folder}/sympy__sympy-11777/report.json"] == "part"
    notes = {file["path"]: file["notes"] for file in outcome.document["files"]}
    assert any("sympy__sympy-11777" in note for name in notes for note in notes[name])
    check_second_import(project, "swebench", *options)


@pytest.mark.parametrize("tool", ["inspect", "lm_eval", "swebench"])
def test_dry_run_stores_nothing(project, tool):
    outcome = imported(tool, "--benchmark", "b", "--dry-run", "--verdict", "local_mc=acc")
    assert outcome.document["runs_added"] > 0
    assert stored_runs(project) == {}
