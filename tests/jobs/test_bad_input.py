"""Bad input: one clear line, exit status 1, no traceback, nothing stored."""

import subprocess
import sys

import pytest

from jobs.demo import write_long_table
from tests.jobs.command_line import HEADER, invoke, one_error_line
from tests.jobs.histories import command, logs, only, tables, verdict_table

ROWS = "r,question-001,1,pass,2025-03-20,x,bench\nr,question-002,1,fail,2025-03-20,x,bench\n"


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        pytest.param(
            "t.csv",
            HEADER.replace("question_id", "quest") + "\n" + ROWS,
            (),
            "question",
            id="missing column",
        ),
        pytest.param(
            "t.csv",
            f"{HEADER}\n" + ROWS.replace("fail", "maybe"),
            (),
            "line 3, column `passed`: unknown verdict 'maybe'",
            id="unknown verdict word",
        ),
        pytest.param(
            "t.csv",
            f"{HEADER}\n{ROWS}" + ROWS.replace("fail", "pass"),
            (),
            "question 'question-002', trial 1",
            id="contradictory duplicate",
        ),
        pytest.param(
            "t.csv",
            f"{HEADER}\n" + ROWS.replace("bench", "bnech"),
            (),
            "unknown benchmark 'bnech'; known are 'bench'; is 'bench' meant?",
            id="unknown benchmark",
        ),
        pytest.param(
            "t.csv",
            f"{HEADER}\n" + ROWS.replace("question-002", "question-2"),
            (),
            "lacks 1 of the file's questions: 'question-2'; --extend-bank adds them",
            id="unknown question",
        ),
        pytest.param("t.csv", "", (), "is empty", id="empty"),
        pytest.param("t.csv", f"{HEADER}\n", (), "no rows", id="header only"),
        pytest.param("t.csv", f"{HEADER}\n{ROWS[:-20]}", (), "cut short", id="cut CSV"),
        pytest.param(
            "t.jsonl",
            '{"run_id": "r", "question_id": "question-001", "passed": 1}\n{"run_id": "r", "qu',
            (),
            "line 2",
            id="cut JSON lines",
        ),
        pytest.param("t.csv", "\x00\x01\x02\x03" * 50, (), "is a binary file", id="binary"),
        pytest.param(
            "t.csv",
            f"{HEADER}\n" + ROWS.replace("pass", "error").replace("fail", "timeout"),
            (),
            "run 'r' has no valid verdict",
            id="no valid verdict",
        ),
        pytest.param(
            "t.csv", f"{HEADER}\n{ROWS}", ("--subset", "bench-k9"), "no subset", id="unknown subset"
        ),
        pytest.param(
            "t.csv",
            f"{HEADER}\n{ROWS}",
            ("--harness", "x"),
            "no harness is called 'x'",
            id="harness",
        ),
        pytest.param(
            "t.csv", f"{HEADER}\n{ROWS}", ("--purpose", "x"), "no purpose is called", id="purpose"
        ),
    ],
)
def test_a_file_that_is_wrong(calibrated, name, content, arguments, message):
    path = calibrated / name
    path.write_text(content)
    before = tables(calibrated)
    error = one_error_line(command(calibrated, "import", path, *arguments, code=1))
    assert message in error
    assert tables(calibrated) == before


def test_a_cut_parquet_file(calibrated):
    path = calibrated / "cut.parquet"
    path.write_bytes(cut((calibrated / "runs.parquet").read_bytes()))
    before = tables(calibrated)
    assert str(path) in one_error_line(command(calibrated, "import", path, code=1))
    assert tables(calibrated) == before


def test_a_changed_verdict_without_replace(calibrated):
    rows = verdict_table(calibrated)
    rows = (
        rows[rows["run_id"] == rows["run_id"].iloc[0]].drop(columns="day").dropna(subset="passed")
    )
    rows["passed"] = rows["passed"].astype(bool)
    rows.loc[rows.index[3], "passed"] = not rows["passed"].iloc[3]
    path = calibrated / "changed.parquet"
    rows.to_parquet(path)
    before = tables(calibrated)
    error = one_error_line(command(calibrated, "import", path, code=1))
    assert rows["run_id"].iloc[0] in error
    assert rows["question_id"].iloc[3] in error
    assert "--replace" in error
    assert tables(calibrated) == before
    command(calibrated, "import", path, "--replace")
    assert tables(calibrated) != before


@pytest.mark.parametrize("k", ["0", "-1", "121", "100000000000000000000"])
def test_a_size_outside_the_bank(calibrated, k):
    before = tables(calibrated)
    error = one_error_line(command(calibrated, "subset", "--k", k, code=1))
    assert f"`k` is {k}, but the bank has 120 questions; choose k between 1 and 120" in error
    assert tables(calibrated) == before


def test_a_stored_run_without_valid_verdicts_on_what_was_asked(calibrated):
    subset = command(calibrated, "subset", "--k", "20", "--json").document
    asked = set(subset["question_ids"])
    log = only(
        logs()[-1],
        lambda question: question not in asked,
        run_key="beside",
        subset_id=subset["subset_id"],
    )
    write_long_table(calibrated / "beside.parquet", [log])
    command(calibrated, "import", calibrated / "beside.parquet")
    before = tables(calibrated)
    for reference in ("beside", calibrated / "beside.parquet"):
        error = one_error_line(command(calibrated, "estimate", reference, code=1))
        assert "none of the 20 asked questions has a valid verdict" in error
    assert tables(calibrated) == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[defaults]\nlevle = 0.9\n", "unknown key `defaults.levle`; did you mean `level`?"),
        ("[defaults]\nwindow = '4 weeks'\n", "`defaults.window`: window '4 weeks' is not a number"),
        ("seed = \n", "not valid TOML: "),
        ("sed = 1\n", "unknown key `sed`; did you mean `seed`?"),
    ],
)
def test_a_typo_in_the_configuration(calibrated, text, message):
    before = tables(calibrated)
    (calibrated / "recurring-eval.toml").write_text(text)
    for arguments in (
        ("recalibrate",),
        ("subset", "--k", "20"),
        ("estimate", "last"),
        ("check",),
        ("status",),
        ("report",),
        ("import", "runs.parquet"),
    ):
        error = one_error_line(command(calibrated, *arguments, code=1))
        assert message in error
        assert "recurring-eval.toml" in error
    assert tables(calibrated) == before


@pytest.mark.parametrize(
    "arguments", [("subset",), ("estimate",), ("import",), ("subset", "--k", "many"), ("nope",)]
)
def test_wrong_usage_exits_with_2(calibrated, arguments):
    assert invoke(*arguments).code == 2


def test_a_missing_history_names_the_way_to_make_one(calibrated):
    (calibrated / "history.duckdb").unlink()
    error = one_error_line(command(calibrated, "status", code=1))
    assert "its sidecar history.seq is there" in error
    assert "start anew with `recurring-eval init`" in error
    (calibrated / "history.seq").unlink()
    error = one_error_line(command(calibrated, "status", code=1))
    assert "history.duckdb does not exist; create one with `recurring-eval init`" in error


def test_a_process_ends_with_status_1_and_one_line(calibrated):
    done = subprocess.run(
        [sys.executable, "-c", "from jobs.cli import main; main()", "subset", "--k", "0"],
        cwd=calibrated,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: `k` is 0")
