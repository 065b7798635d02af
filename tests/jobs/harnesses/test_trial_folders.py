"""Folders of trials of Terminal-Bench and Harbor, made small."""

import json
import shlex
from fnmatch import fnmatchcase
from typing import Any

import pytest

from jobs.harnesses.harbor import HARBOR
from jobs.harnesses.terminal_bench import TERMINAL_BENCH
from recurring_eval.errors import InputError
from tests.jobs.harnesses.reading import SUBSET, context, read_log, read_run, refusal, words, write

RUN = "run.1"


def tb_trial(task: str, attempt: int = 1, resolved: object = True, **facts: Any) -> dict[str, Any]:
    return {
        "id": f"{task}-{attempt}",
        "trial_name": f"{task}.{attempt}-of-2.{RUN}",
        "task_id": task,
        "is_resolved": resolved,
        "failure_mode": "unset",
        "trial_started_at": f"2026-11-16T10:0{attempt}:00+00:00",
        "trial_ended_at": f"2026-11-16T10:0{attempt}:30+00:00",
    } | facts


def tb_run(folder, own: list[dict[str, Any]], merged: list[dict[str, Any]], **facts: Any):
    metadata = {
        "run_id": RUN,
        "agent_name": "terminus",
        "model_name": "m",
        "dataset_name": "core",
        "dataset_version": "1.0",
        "n_attempts": 2,
        "dataset_size": 2,
        "start_time": "2026-11-16T10:00:00+00:00",
        "end_time": "2026-11-16T11:00:00+00:00",
    } | facts
    home = folder / "runs" / RUN
    write(home / "run_metadata.json", metadata)
    write(home / "results.json", {"results": merged, "n_resolved": 1, "n_unresolved": 1})
    for trial in own:
        write(home / trial["task_id"] / trial["trial_name"] / "results.json", trial)
    return home


def test_terminal_bench(tmp_path):
    # A task's id may have dots and look like an attempt.
    odd = "a.1-of-2.b"
    trials = [
        tb_trial("x"),
        tb_trial("x", 2, False, failure_mode="agent_timeout"),
        tb_trial(odd, 1, None, failure_mode="test_timeout"),
    ]
    crashed = tb_trial(odd, 2, None, failure_mode="unknown_agent_error")
    tb_run(tmp_path, trials, [*trials, crashed])
    log = read_log(tmp_path, "terminal-bench")
    (run,) = log.runs
    assert words(run) == {"x": "pass fail", odd: "missing missing"}
    assert set(run.reasons) == {"timeout: test_timeout", "error: unknown_agent_error"}
    assert (run.run_key, run.benchmark, run.agent, run.agent_config) == (
        *(RUN, "core", "terminus"),
        "model=m",
    )
    assert run.tags == ("dataset=core==1.0",)
    assert run.duration_s[0] == 30.0
    assert log.partial is None
    assert words(read_run(tmp_path, "terminal-bench", counts={"agent-timeout": "missing"}))[
        "x"
    ] == ("pass missing")


def test_terminal_bench_that_was_killed(tmp_path):
    home = tb_run(tmp_path, [tb_trial("x")], [], end_time=None, task_ids=["x", "y"])
    (home / "results.json").unlink()
    write(home / "x" / f"x.2-of-2.{RUN}" / "agent.log", "started")
    log = read_log(tmp_path, "terminal-bench")
    assert words(log.runs[0]) == {"x": "pass missing"}
    assert log.runs[0].reasons == ("not run",)
    assert log.runs[0].question_ids == ("x", "y")
    assert log.partial == "the run was stopped or is not finished: 1 of 4 trials are in the log"


def test_a_damaged_trial_is_an_error_of_its_task(tmp_path):
    home = tb_run(tmp_path, [tb_trial("x"), tb_trial("y")], [])
    (home / "y" / f"y.1-of-2.{RUN}" / "results.json").write_text('{"task_id": "y", "is_')
    log = read_log(tmp_path, "terminal-bench")
    assert words(log.runs[0]) == {"x": "pass", "y": "missing"}
    assert any("cannot be read" in note and "y" in note for note in log.notes)


def test_terminal_bench_subset(tmp_path):
    tb_run(tmp_path, [tb_trial("x")], [], run_id=f"subset.{SUBSET}.r2")
    assert read_run(tmp_path, "terminal-bench").subset_id == SUBSET
    ids = ["plain", "a*", "b[1]", "c?"]
    found = TERMINAL_BENCH.selection(ids, context(task="core"))
    arguments = shlex.split(found.command)
    assert arguments[:6] == [
        *("tb", "run", "--dataset", "core==VERSION", "--run-id"),
        f"subset.{SUBSET}",
    ]
    patterns = [word.removeprefix("--task-id=") for word in arguments[6:]]
    for pattern, key in zip(patterns, ids, strict=True):
        assert fnmatchcase(key, pattern)
        assert not any(fnmatchcase(other, pattern) for other in ["aa", "b1", "cc"])


def test_selection_of_two_datasets_is_refused():
    with pytest.raises(InputError, match="2 datasets of Terminal-Bench"):
        TERMINAL_BENCH.selection(["a/x", "b/x"], context(other_tasks=("a", "b")))


def harbor_trial(task: str, number: int, reward: object = 1.0, **facts: Any) -> dict[str, Any]:
    return {
        "id": f"{task}-{number}",
        "task_name": task,
        "trial_name": f"{task.rpartition('/')[2][:32]}__{number:07}",
        "source": "bench-2",
        "task_checksum": f"{hash(task) % 1000}",
        "agent_info": {
            "name": "agent",
            "version": "1",
            "model_info": {"name": "m", "provider": "p"},
        },
        "agent_result": {"cost_usd": 0.5},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None,
        "started_at": f"2026-11-16T09:0{9 - number}:00Z",
        "finished_at": f"2026-11-16T09:0{9 - number}:20Z",
        "reward_valid": reward is not None,
    } | facts


def harbor_job(folder, *trials: dict[str, Any], name: str = "job", **facts: Any):
    home = folder / "jobs" / name
    job = {
        "id": "1",
        "started_at": "2026-11-16T09:00:00Z",
        "finished_at": "2026-11-16T10:00:00Z",
        "n_total_trials": len(trials),
        "stats": {},
    }
    write(home / "result.json", job | facts)
    write(home / "config.json", {"job_name": name, "n_attempts": 1, "datasets": []})
    for trial in trials:
        write(home / trial["trial_name"] / "result.json", trial)
    return home


TIMEOUT = {"exception_info": {"exception_type": "AgentTimeoutError"}}


def test_harbor(tmp_path):
    long = "org/" + "x" * 60
    harbor_job(
        tmp_path,
        # Attempts have no numbers and are ordered by time, here backwards.
        harbor_trial("org/a", 1, 0.0),
        harbor_trial("org/a", 2, 1.0),
        harbor_trial("org/b", 1, 0.5, **TIMEOUT),
        harbor_trial("org/c", 1, None, **TIMEOUT),
        harbor_trial(long + "1", 1),
        harbor_trial(long + "2", 2, False),
        harbor_trial("org/d", 1, 1.0, reward_valid=False),
    )
    log = read_log(tmp_path, "harbor")
    (run,) = log.runs
    assert words(run) == {
        "org/a": "pass fail",
        "org/b": "fail",
        "org/c": "missing",
        long + "1": "pass",
        long + "2": "fail",
        "org/d": "missing",
    }
    assert "timeout: AgentTimeoutError" in run.reasons
    assert (run.run_key, run.benchmark, run.agent) == ("job", "bench-2", "agent")
    assert run.agent_config == "agent_version=1 model=p/m"
    assert (run.cost[0], run.duration_s[0]) == (0.5, 20.0)
    assert words(read_run(tmp_path, "harbor", threshold=0.5))["org/b"] == "pass"


def test_harbor_without_the_newer_fields(tmp_path):
    trial = harbor_trial("org/a", 1, None, **TIMEOUT)
    del trial["reward_valid"]
    harbor_job(tmp_path, trial, harbor_trial("org/b", 1))
    assert words(read_run(tmp_path, "harbor")) == {"org/a": "missing", "org/b": "pass"}


def test_harbor_asks_which_reward(tmp_path):
    trial = harbor_trial("org/a", 1)
    trial["verifier_result"] = {"rewards": {"style": 1.0, "tests": 0.0}}
    harbor_job(tmp_path, trial)
    assert "several rewards: style, tests" in refusal(tmp_path, "harbor")
    assert words(read_run(tmp_path, "harbor", verdict="tests")) == {"org/a": "fail"}


def test_harbor_that_was_killed(tmp_path):
    home = harbor_job(tmp_path, harbor_trial("org/a", 1), n_total_trials=3)
    write(home / "b__1" / "config.json", {"task": {"name": "org/b"}, "trial_name": "b__1"})
    log = read_log(tmp_path, "harbor")
    assert words(log.runs[0]) == {"org/a": "pass", "org/b": "missing"}
    assert log.partial == "the job was stopped or is not finished: 1 of 3 trials are in the log"


def test_harbor_agents_are_runs(tmp_path):
    other = harbor_trial("org/a", 2, 0.0)
    other["agent_info"] = {"name": "other"}
    harbor_job(tmp_path, harbor_trial("org/a", 1), other)
    runs = {run.agent: words(run) for run in read_log(tmp_path, "harbor").runs}
    assert runs == {"agent": {"org/a": "pass"}, "other": {"org/a": "fail"}}


def test_harbor_subset(tmp_path):
    harbor_job(tmp_path, harbor_trial("org/a", 1), name=f"subset.{SUBSET}")
    assert read_run(tmp_path, "harbor").subset_id == SUBSET
    found = HARBOR.selection(["org/a", "org/b[1]*"], context(task="bench-2", folder="out"))
    name = f"subset.{SUBSET}"
    assert found.command == f"harbor run --config out/{name}.json --job-name {name}"
    assert json.loads(found.files[f"{name}.json"]) == {
        "job_name": name,
        "datasets": [{"name": "bench-2", "task_names": ["org/a", "org/b[[]1][*]"]}],
    }
