"""Tables with a row or a column per run."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs.harnesses.reading import read_log, refusal, words, write

ROWS = """\
run_id,agent,started_at,q1,q2,q 3
r1,a,2026-11-16T09:00:00Z,1,0,
r2,b,2026-11-17T09:00:00Z,pass,fail,timeout
"""
COLUMNS = """\
question_id;x;y
started_at;2026-11-16;2026-11-17
agent;a;b
q1;1;1
q2;0;0
q 3;;timeout
"""
EXPECTED = [
    ("a", "2026-11-16", {"q1": "pass", "q2": "fail", "q 3": "missing"}),
    ("b", "2026-11-17", {"q1": "pass", "q2": "fail", "q 3": "missing"}),
]


@pytest.mark.parametrize("text", [ROWS, COLUMNS], ids=["row per run", "column per run"])
def test_both_ways(tmp_path, text):
    log = read_log(write(tmp_path / "t.csv", text), "wide-table")
    assert [(r.agent, str(r.started_at)[:10], words(r)) for r in log.runs] == EXPECTED
    assert [run.reasons for run in log.runs] == [("not run",), ("timeout",)]


def test_dates_in_the_headings(tmp_path):
    text = "question_id,nightly-2026-11-16,nightly-2026-11-17\nq1,1,0\nq2,0,0\n"
    runs = read_log(write(tmp_path / "t.csv", text), "wide-table").runs
    assert [(run.run_key, str(run.started_at)[:10]) for run in runs] == [
        ("nightly-2026-11-16", "2026-11-16"),
        ("nightly-2026-11-17", "2026-11-17"),
    ]


def test_parquet(tmp_path):
    table = {"run_id": ["r1", "r2"], "started_at": ["2026-11-16", "2026-11-17"]}
    table |= {"q1": [True, False], "q2": [None, True]}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    runs = read_log(tmp_path / "t.parquet", "wide-table").runs
    assert [words(run) for run in runs] == [
        {"q1": "pass", "q2": "missing"},
        {"q1": "fail", "q2": "pass"},
    ]


def test_rows_of_one_run_are_its_trials(tmp_path):
    text = "run_id,trial,started_at,q1,q2\nr,1,2026-11-16,1,0\nr,2,2026-11-16,0,0\n"
    (run,) = read_log(write(tmp_path / "t.csv", text), "wide-table").runs
    assert words(run) == {"q1": "pass fail", "q2": "fail fail"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("agent,q1,q2\na,1,0\n", "add a column started_at"),
        ("question_id,x,y\nq1,1,0\n", "add a row whose first cell is started_at"),
        ("run_id,started_at,q1,q1\nr,2026-11-16,1,0\n", "several columns, among them 'q1'"),
        ("run_id,started_at,q1,q2\nr,2026-11-16,1,0.5\n", "with --threshold T"),
        ("run_id,started_at,q1,q2\nr,2026-11-16,1,0\nr,2026-11-16,0,0\n", "keep one of the two"),
    ],
)
def test_what_it_does_not_guess(tmp_path, text, told):
    assert told in refusal(write(tmp_path / "t.csv", text), "wide-table")


@pytest.mark.parametrize(
    "text",
    [
        # A long table with a column misspelt is told so by its own reader.
        "run_id,question_id,passd,started_at\nr,q,1,2026-11-16\n",
        "run_id,item,passd,started_at\nr,q,1,2026-11-16\n",
        "run_id,task,passed,started_at\nr,q,1,2026-11-16\n",
        "name,size\na,1\n",
    ],
)
def test_other_tables_are_left_alone(tmp_path, text):
    refusal(write(tmp_path / "t.csv", text), "table")


def test_a_threshold_applies(tmp_path):
    text = "run_id,started_at,q1,q2\nr,2026-11-16,0.7,0.2\n"
    log = read_log(write(tmp_path / "t.csv", text), "wide-table", threshold=0.5)
    assert words(log.runs[0]) == {"q1": "pass", "q2": "fail"}
