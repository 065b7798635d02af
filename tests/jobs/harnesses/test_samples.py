"""The sample tables read as they were planned before they were written."""

import csv
import json
import time

import numpy as np
import pytest

from tests.jobs.harnesses.tables import read, verdicts
from tests.shared_data import shared_path

SAMPLES = "harness/samples/longform"


def expected(key: str) -> list[list[object]]:
    return json.loads(shared_path(f"{SAMPLES}/EXPECTED.json").read_text())[key]


@pytest.mark.parametrize("name", ["runs.csv", "runs.jsonl", "runs.parquet"])
def test_the_same_runs_in_three_formats(name):
    file = read(shared_path(f"{SAMPLES}/{name}"))
    found = [[log.run_key, q, word] for log in file.runs for q, _, word in verdicts(log)]
    assert sorted(found) == sorted(expected("runs.csv / runs.jsonl / runs.parquet"))
    assert {log.benchmark for log in file.runs} == {"support"}
    assert {log.agent for log in file.runs} == {"support-agent"}
    assert [log.agent_config for log in file.runs] == [
        f"agent_version={version} model=acme-1" for version in ("1.3.0", "1.3.0", "1.4.0")
    ]
    assert [str(log.started_at) for log in file.runs] == [
        f"2026-11-{16 + i} 09:0{i}:00+00:00" for i in range(3)
    ]
    assert file.runs[1].reasons == ("timeout",)
    # `area:a` and `area:b` describe questions.
    assert {log.tags for log in file.runs} == {()}
    assert file.runs[0].duration_s[0] == 24.0
    assert file.runs[0].cost[0] == 0.03077


def test_three_formats_agree_in_every_field():
    logs = [read(shared_path(f"{SAMPLES}/runs.{end}")).runs for end in ("csv", "jsonl", "parquet")]
    for first, *others in zip(*logs, strict=True):
        for other in others:
            for field in first.__slots__:
                a, b = getattr(first, field), getattr(other, field)
                if isinstance(a, np.ndarray):
                    assert a.dtype == b.dtype
                    np.testing.assert_array_equal(a, b)
                else:
                    assert a == b


def test_trials_under_other_names():
    (log,) = read(shared_path(f"{SAMPLES}/three_attempts_other_names.csv")).runs
    found = [[log.run_key, q, trial, word] for q, trial, word in verdicts(log)]
    assert sorted(found) == sorted(expected("three_attempts_other_names.csv"))


def test_swebench_verified_against_the_plain_matrix():
    file = read(shared_path("data/swebench_verified_runs.parquet"))
    assert len(file.runs) == 134
    assert len(file.runs[0].question_ids) == 500
    with shared_path("data/swebench_verified.csv").open(newline="") as matrix:
        rows = {row.pop("agent"): row for row in csv.DictReader(matrix)}
    assert len(rows) == 134
    for log in file.runs:
        words = {q: word for q, _, word in verdicts(log)}
        assert words == {
            question: "pass" if float(cell) == 1 else "fail"
            for question, cell in rows[log.run_key].items()
        }


@pytest.mark.benchmark
def test_67000_rows_take_less_than_two_seconds():
    path = shared_path("data/swebench_verified_runs.parquet")
    start = time.perf_counter()
    read(path)
    assert time.perf_counter() - start < 2.0
