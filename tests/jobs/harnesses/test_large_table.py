"""Large tables, read some runs at a time, give what reading them at once gives."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.log_files import LogUnit
from jobs.harnesses.table import long_table as large_table
from jobs.harnesses.table.long_table import LONG_TABLE, open_large
from jobs.importing.report import merged_notes
from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from tests.jobs.command_line import invoke, one_error_line

N_RUNS, N_QUESTIONS = 40, 30


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_table, "PART_ROWS", 200)
    monkeypatch.setattr(large_table, "_BATCH_ROWS", 77)


def columns(seed: int = 0, *, trials: int = 1) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    n = N_RUNS * N_QUESTIONS * trials
    run = np.repeat(np.arange(N_RUNS), N_QUESTIONS * trials)
    question = np.tile(np.repeat(np.arange(N_QUESTIONS), trials), N_RUNS)
    missing = rng.random(n) < 0.1
    passed = rng.random(n) < 0.6
    return {
        "run_id": [f"run-{i:02d}" for i in run],
        "question_id": [f"q{i}" for i in question],
        "trial": np.tile(np.arange(trials), N_RUNS * N_QUESTIONS).tolist(),
        "passed": [None if m else bool(p) for m, p in zip(missing, passed, strict=True)],
        "error": [f"timeout {i % 3}" if m else None for i, m in enumerate(missing)],
        "started_at": [f"2026-01-{1 + i % 28:02d}T00:00:00Z" for i in run],
        "agent": [f"agent-{i % 3}" for i in run],
        "duration_s": rng.random(n).tolist(),
    }


def write(path: Path, table: dict[str, list[object]], order: np.ndarray | None = None) -> Path:
    rows = pa.table(table)
    if order is not None:
        rows = rows.take(pa.array(order))
    pq.write_table(rows, path, row_group_size=130)
    return path


def shuffled(table: dict[str, list[object]]) -> np.ndarray:
    return np.random.default_rng(5).permutation(len(table["run_id"]))


def content(log: RunLog) -> tuple[object, ...]:
    """All of a log, questions and reasons by name."""
    reasons = (*log.reasons, "")
    return (
        (log.run_key, log.benchmark, log.agent, log.started_at, log.kind),
        sorted(
            (
                log.question_ids[log.question_index[row]],
                int(log.trial[row]),
                int(log.outcome[row]),
                reasons[log.reason_index[row]],
                round(float(log.duration_s[row]), 9),
            )
            for row in range(len(log.outcome))
        ),
    )


def both_ways(path: Path, options: ReadOptions | None = None) -> tuple[list, list, int]:
    """Logs read at once and in parts, and the number of parts."""
    options = options or ReadOptions()
    whole = LONG_TABLE.read(LogUnit(path=path, files=(path,)), options)
    parts = list(open_large(path).read_parts(options, harness="table"))
    notes = merged_notes([note for part in parts for note in part.notes])
    assert sorted(notes) == sorted(whole.notes)
    keyed = [
        sorted((content(log) for log in logs), key=repr)
        for logs in (whole.runs, [log for part in parts for log in part.runs])
    ]
    return keyed[0], keyed[1], len(parts)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
@pytest.mark.parametrize("trials", [1, 3])
def test_parts_are_the_whole(tmp_path: Path, order: str, trials: int) -> None:
    table = columns(trials=trials)
    path = write(tmp_path / "t.parquet", table, shuffled(table) if order != "sorted" else None)
    whole, parts, n_parts = both_ways(path)
    assert parts == whole
    assert len(whole) == N_RUNS
    assert n_parts == 1 + (N_RUNS * N_QUESTIONS * trials - 1) // (
        -(-200 // (N_QUESTIONS * trials)) * N_QUESTIONS * trials
    )


def test_several_benchmarks_with_the_same_run_ids(tmp_path: Path) -> None:
    table = columns()
    table["benchmark"] = [f"b{int(q[1:]) % 2}" for q in table["question_id"]]
    path = write(tmp_path / "t.parquet", table)
    whole, parts, _ = both_ways(path)
    assert parts == whole
    assert len(whole) == 2 * N_RUNS
    survey = open_large(path)
    assert survey.questions == {
        f"b{rest}": frozenset(f"q{i}" for i in range(rest, N_QUESTIONS, 2)) for rest in (0, 1)
    }
    assert sum(map(len, survey.parts)) == 2 * N_RUNS


def test_what_the_whole_file_says_holds_for_each_part(tmp_path: Path) -> None:
    # Only the first run counts its trials from 0 and writes Y: the others must be read alike.
    table = columns()
    n = len(table["run_id"])
    first = np.arange(n) < N_QUESTIONS
    table["trial"] = np.where(first, 0, 1).tolist()
    table["passed"] = ["Y" if is_first else "N" for is_first in first]
    table["error"] = [None] * n
    whole, parts, n_parts = both_ways(write(tmp_path / "t.parquet", table))
    assert parts == whole
    assert n_parts > 2
    assert {row[1] for log in parts for row in log[1]} == {1, 2}


def test_labels_of_trials_are_ranked_within_each_question(tmp_path: Path) -> None:
    table = columns(trials=2)
    table["seed"] = [f"s{9 - int(t)}" for t in table.pop("trial")]
    whole, parts, _ = both_ways(write(tmp_path / "t.parquet", table, shuffled(table)))
    assert parts == whole


def test_column_with_content_only_at_the_end_is_chosen(tmp_path: Path) -> None:
    table = columns()
    n = len(table["run_id"])
    table["eval_id"] = table["run_id"]
    table["run_id"] = [None] * n
    path = write(tmp_path / "t.parquet", {**table, "run_id": pa.nulls(n, pa.string())})
    whole, parts, _ = both_ways(path)
    assert parts == whole
    assert whole[0][0][0] == "run-00"


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_wrong_cell_is_refused_with_its_row(tmp_path: Path, order: str) -> None:
    table = columns()
    row = 1000
    permutation = shuffled(table) if order != "sorted" else np.arange(len(table["run_id"]))
    table["passed"] = [None if p is None else str(p) for p in table["passed"]]
    table["passed"][permutation[row]] = "perhaps"
    path = write(tmp_path / "t.parquet", table, permutation)
    with pytest.raises(InputError, match=f"row {row + 1}, column `passed`: unknown verdict"):
        list(open_large(path).read_parts(ReadOptions(), harness="table"))


def test_missing_id_is_refused_with_its_row(tmp_path: Path) -> None:
    table = columns()
    table["question_id"][777] = None
    path = write(tmp_path / "t.parquet", table)
    with pytest.raises(InputError, match="row 778 has no question"):
        open_large(path)


@pytest.fixture
def large(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which every Parquet file counts as large."""
    monkeypatch.setattr("jobs.harnesses.registry.HARNESSES", (LONG_TABLE,))
    monkeypatch.setattr(large_table, "LARGE_ROWS", 0)
    return project


def test_large_import_is_a_no_op_the_second_time(large: Path) -> None:
    table = columns()
    write(large / "t.parquet", table, shuffled(table))
    command = ("import", "t.parquet", "--benchmark", "b", "--json")
    first = invoke(*command).document
    assert (first["runs_added"], first["verdicts_added"]) == (N_RUNS, N_RUNS * N_QUESTIONS)
    again = invoke(*command).document
    (file,) = again["files"]
    assert (again["runs_added"], file["status"]) == (0, "already there")
    assert (file["runs"], file["verdicts"]) == (N_RUNS, N_RUNS * N_QUESTIONS)
    # Read with another rule, the same file is another matter, and is read again.
    agent = invoke(*command, "--agent", "x")
    assert agent.code == 1
    assert "is stored with agent" in agent.err


def test_file_is_read_again_when_a_run_of_it_was_changed(large: Path) -> None:
    table = columns()
    write(large / "t.parquet", table)
    command = ("import", "t.parquet", "--benchmark", "b")
    assert invoke(*command, "--quiet").code == 0
    other = {name: values[:N_QUESTIONS] for name, values in table.items()}
    other["passed"] = [not value if value is not None else True for value in other["passed"]]
    other["error"] = [None] * N_QUESTIONS
    write(large / "other.parquet", other)
    assert invoke("import", "other.parquet", "--benchmark", "b", "--replace").code == 0
    assert "the stored verdict is" in one_error_line(invoke(*command))


def test_refused_large_file_leaves_no_trace(large: Path) -> None:
    table = columns()
    table["passed"] = [None if p is None else str(p) for p in table["passed"]]
    table["passed"][-1] = "perhaps"
    write(large / "t.parquet", table)
    error = one_error_line(invoke("import", "t.parquet", "--benchmark", "b"))
    assert f"row {len(table['passed'])}" in error
    document = invoke("status", "--json").document
    assert document["benchmarks"] == []
    dry = write(large / "dry.parquet", columns())
    outcome = invoke("import", dry, "--benchmark", "b", "--dry-run", "--json").document
    assert outcome["runs_added"] == N_RUNS
    assert invoke("import", dry, "--benchmark", "b", "--json").document["runs_added"] == N_RUNS


def test_questions_of_small_and_large_files_make_one_bank(large: Path) -> None:
    write(large / "t.parquet", columns())
    (large / "small.csv").write_text(
        "run_id,question_id,passed,started_at\nr,extra,1,2026-01-01T00:00:00Z\n"
    )
    done = invoke("import", "t.parquet", "small.csv", "--benchmark", "b", "--json").document
    assert done["runs_added"] == N_RUNS + 1
    assert invoke("status", "--json").document["benchmarks"][0]["n_questions"] == N_QUESTIONS + 1
