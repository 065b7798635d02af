"""The traps of plain tables."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recurring_eval.errors import InputError
from recurring_eval.records import RunPurpose
from tests.jobs.harnesses.tables import by_question, read, read_text, verdicts

DAY = "2026-11-16T09:00:00Z"
ODD_IDS = ["001", "1", "1.0", "NA", "null", "None", "nan", "=SUM(A1)", " x ", "a,b", 'say "hi"']


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def odd_csv(delimiter=",", end="\n"):
    rows = [["run_id", "question_id", "passed", "started_at"]]
    rows += [["007", quoted(key), str(i % 2), DAY] for i, key in enumerate(ODD_IDS)]
    return end.join(delimiter.join(row) for row in rows) + end


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_ids_are_the_text_of_the_file(tmp_path, delimiter, end, mark):
    file = read_text(tmp_path, mark + odd_csv(delimiter, end))
    assert file.runs[0].run_key == "007"
    assert by_question(file) == {key: "pass" if i % 2 else "fail" for i, key in enumerate(ODD_IDS)}


def test_quoted_line_breaks_and_blank_lines(tmp_path):
    text = f'run_id,question_id,passed,started_at\n\nr,"a\nb",1,{DAY}\n\nr,c,0,{DAY}\n'
    assert by_question(read_text(tmp_path, text)) == {"a\nb": "pass", "c": "fail"}


def test_utf8_latin1_and_utf16(tmp_path):
    text = f"run_id,question_id,passed,started_at\nr,Größe-é,1,{DAY}\n"
    path = tmp_path / "t.csv"
    for encoding, n_notes in (("utf-8", 0), ("latin-1", 1), ("utf-16", 0)):
        path.write_bytes(text.encode(encoding))
        file = read(path, agent="a")
        assert by_question(file) == {"Größe-é": "pass"}
        assert [note for note in file.notes if "Latin-1" in note] == [
            "is not UTF-8; read as Latin-1"
        ] * n_notes


def test_headers_are_matched_loosely(tmp_path):
    text = f" Run ID,Question-Id,PASSED,Started At\nr,q,1,{DAY}\n"
    assert by_question(read_text(tmp_path, text)) == {"q": "pass"}


def test_two_columns_of_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="'run_id' and 'Run ID' have the same name"):
        read_text(tmp_path, f"run_id,Run ID,qid,passed,ts\nr,r,q,1,{DAY}\n")


def test_json_lines_keep_ids_and_accept_nan(tmp_path):
    rows = [
        {"run": 7, "id": 12, "passed": True, "ts": DAY, "tags": ["nightly", "q:1"]},
        {"run": 7, "id": 13, "passed": False, "ts": DAY, "tags": ["nightly"]},
        {"run": 7, "id": 14, "passed": float("nan"), "ts": DAY, "tags": ["nightly"]},
        {"run": 7, "id": 15, "ts": DAY, "error": "timeout", "tags": ["nightly"]},
    ]
    file = read_text(tmp_path, "\n\n".join(json.dumps(row) for row in rows), "t.jsonl")
    assert by_question(file) == {"12": "pass", "13": "fail", "14": "missing", "15": "missing"}
    assert file.runs[0].run_key == "7"
    assert file.runs[0].tags == ("nightly",)


def test_a_number_and_a_text_of_one_spelling_are_refused(tmp_path):
    rows = [{"run": "r", "id": key, "passed": 1, "ts": DAY} for key in (7, "7")]
    with pytest.raises(InputError, match="line 2, column `id`: '7' occurs both"):
        read_text(tmp_path, "\n".join(json.dumps(row) for row in rows), "t.jsonl")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"run": "r", "id": 1.0, "passed": 1, "ts": "2026-11-16"}', "1.0 is a float, not the id"),
        ('{"run": "r", "id": true, "passed": 1, "ts": "2026-11-16"}', "True is a bool"),
        ('{"run": "r", "id": "", "passed": 1, "ts": "2026-11-16"}', "line 2 has no question"),
        ('{"run": null, "id": "a", "passed": 1, "ts": "2026-11-16"}', "line 2 has no run"),
        ('{"run": "r", "id": "\\ud800", "passed": 1, "ts": "2026-11-16"}', "unreadable character"),
        ('{"run": "r", "id": "a\\u0000", "passed": 1, "ts": "2026-11-16"}', "unreadable character"),
        ('{"run": "r", "id": "a\\u001b[2J", "passed": 1, "ts": "2026-11-16"}', "unreadable char"),
        ('{"run": "r", "id": {"a": 1}, "passed": 1, "ts": "2026-11-16"}', "holds an object"),
        ('{"run": "r", "id": "a", "pass', "line 2 is not valid JSON.*cut short"),
        ("[1, 2]", "line 2 is a JSON list, not an object"),
        ("[" * 100_000, "line 2 cannot be read as JSON"),
    ],
)
def test_bad_json_lines_are_named(tmp_path, line, message):
    good = '{"run": "r", "id": "z", "passed": 1, "ts": "2026-11-16"}'
    with pytest.raises(InputError, match=message):
        read_text(tmp_path, f"{good}\n{line}", "t.jsonl")


def write_parquet(path, **columns):
    rows = {"run_id": ["r"] * 3, "question_id": ["a", "b", "c"], "started_at": [DAY] * 3}
    pq.write_table(pa.table({**rows, **columns}), path)
    return path


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array([7, 8, 9], pa.int64()), ["7", "8", "9"]),
        (pa.array(["x", "y", "x2"]).dictionary_encode(), ["x", "y", "x2"]),
        (pa.array(["007", "NA", "null"], pa.large_string()), ["007", "NA", "null"]),
        (pa.array(["x", "y", "z"], pa.string_view()), ["x", "y", "z"]),
    ],
)
def test_parquet_ids_and_nullable_booleans(tmp_path, ids, expected):
    passed = pa.array([True, None, False])
    path = write_parquet(tmp_path / "t.parquet", question_id=ids, passed=passed)
    assert by_question(read(path)) == dict(zip(expected, ["pass", "missing", "fail"], strict=True))


def test_three_formats_of_the_same_rows_agree_in_every_field(tmp_path):
    rows = [
        (run, f"q{i}", 1, None if i == 4 else i % 2 == 0, "timeout" if i == 4 else None, 1.5 + i)
        for run in ("r1", "r2")
        for i in range(6)
    ]
    names = ("run_id", "question_id", "trial", "passed", "error", "duration_s")
    table = [dict(zip(names, row, strict=True)) | {"started_at": DAY, "agent": "a"} for row in rows]
    cells = [["" if v is None else str(v) for v in row.values()] for row in table]
    text = "\n".join(",".join(line) for line in [list(table[0]), *cells])
    files = [read_text(tmp_path, text)]
    files.append(read_text(tmp_path, "\n".join(json.dumps(row) for row in table), "t.jsonl"))
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "t.parquet")
    files.append(read(tmp_path / "t.parquet"))
    words = {None: "missing", True: "pass", False: "fail"}
    for file in files:
        found = [(log.run_key, *row) for log in file.runs for row in verdicts(log)]
        assert found == [(run, q, trial, words[passed]) for run, q, trial, passed, *_ in rows]
        for log, first in zip(file.runs, files[0].runs, strict=True):
            for field in first.__slots__:
                np.testing.assert_array_equal(getattr(log, field), getattr(first, field))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"passed": pa.nulls(3)}, "run 'r' has no valid verdict"),
        ({"question_id": pa.nulls(3)}, "row 1 has no question"),
        ({"started_at": pa.nulls(3)}, "started_at"),
        ({"started_at": pa.array([2**62] * 3, pa.timestamp("us"))}, "the year is not between"),
    ],
)
def test_parquet_columns_without_values_or_far_from_today(tmp_path, column, message):
    path = write_parquet(tmp_path / "t.parquet", **{"passed": [1, 0, 1]} | column)
    with pytest.raises(InputError, match=message):
        read(path)


def test_parquet_ids_that_became_fractions_are_refused(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", question_id=[1.0, 2.0, 3.0], passed=[1, 0, 1])
    with pytest.raises(InputError, match=r"row 1, column `question_id`: 1\.0 is a float"):
        read(path)


def test_trials(tmp_path):
    def trials(column, values):
        rows = [f"r,q,1,{DAY},{value}" for value in values]
        text = "\n".join([f"run_id,question_id,passed,started_at,{column}", *rows]) + "\n"
        return [trial for _, trial, _ in verdicts(read_text(tmp_path, text).runs[0])]

    assert trials("trial", ["1", "2", "5"]) == [1, 2, 5]
    assert trials("epoch", ["0", "1", "2"]) == [1, 2, 3]
    assert trials("seed", ["1234", "99", "70000"]) == [1, 2, 3]
    assert trials("attempt", ["b", "a", "c"]) == [1, 2, 3]
    with pytest.raises(InputError, match="line 3 has no trial"):
        trials("trial", ["1", "", "3"])


def test_a_seed_per_question_is_no_trial_number(tmp_path):
    rows = [f"r,q{i},1,{DAY},{seed}" for i, seed in enumerate([70_001, 5, 8])] + [f"r,q1,0,{DAY},9"]
    text = "\n".join(["run_id,question_id,passed,started_at,seed", *rows]) + "\n"
    assert verdicts(read_text(tmp_path, text).runs[0]) == [
        *[("q0", 1, "pass"), ("q1", 1, "pass"), ("q1", 2, "fail"), ("q2", 1, "pass")]
    ]


DUPLICATES = "run_id,question_id,trial,passed,started_at\n"


def test_repeated_rows_are_dropped_and_told(tmp_path):
    rows = [f"r,a,1,1,{DAY}", f"r,b,1,0,{DAY}", f"r,a,1,1,{DAY}", f"r,c,1,,{DAY}", f"r,c,1,1,{DAY}"]
    file = read_text(tmp_path, DUPLICATES + "\n".join(rows) + "\n")
    assert by_question(file) == {"a": "pass", "b": "fail", "c": "pass"}
    assert "rows dropped because they repeat another: 1" in file.notes
    assert any("the same trial has a valid one: 1" in note for note in file.notes)


def test_contradicting_rows_are_refused_with_both_places(tmp_path):
    rows = [f"r,b,1,0,{DAY}", f"r,a,2,1,{DAY}", f"r,a,1,1,{DAY}", f"r,a,2,0,{DAY}"]
    with pytest.raises(InputError) as caught:
        read_text(tmp_path, DUPLICATES + "\n".join(rows) + "\n")
    assert str(caught.value) == (
        "run 'r', question 'a', trial 2 passed in line 3 and failed in line 5; keep one of the two"
    )


def test_one_run_id_in_two_benchmarks_is_two_runs(tmp_path):
    text = f"run_id,qid,passed,ts,suite\nr,a,1,{DAY},x\nr,a,0,{DAY},y\n"
    runs = read_text(tmp_path, text).runs
    assert [(log.run_key, log.benchmark, verdicts(log)) for log in runs] == [
        ("r", "x", [("a", 1, "pass")]),
        ("r", "y", [("a", 1, "fail")]),
    ]


def test_facts_of_a_run(tmp_path):
    head = (
        "run_id,qid,passed,ts,agent,agent_version,model,commit,purpose,tags,subset_id,latency_ms\n"
    )
    row = 'coder,2.1,big,abc,candidate,"release, q:{}",s-1,1500\n'
    text = head + f"r,a,1,{DAY}," + row.format(1) + f"r,b,1,{DAY}," + row.format(2)
    (log,) = read_text(tmp_path, text).runs
    assert (log.agent, log.agent_config) == ("coder", "agent_version=2.1 model=big commit=abc")
    assert log.purpose is RunPurpose.CANDIDATE
    assert (log.subset_id, log.tags) == ("s-1", ("release",))
    assert np.array_equal(log.duration_s, [1.5, 1.5])
    assert np.isnan(log.cost).all()


def test_a_run_of_two_agents_is_refused(tmp_path):
    text = f"run,qid,passed,ts,agent\n1,a,1,{DAY},x\n1,b,1,{DAY},y\n"
    with pytest.raises(InputError, match="run '1' has two values in column `agent`, 'x' and 'y'"):
        read_text(tmp_path, text)
    assert read_text(tmp_path, text, agent="z")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"run_id,qid,passed,ts\n", "has a header but no rows"),
        (b"run_id,qid,passed,ts\nr,q,1,2026-11-16\nr,q2,1\n", "row 3 has 3 cells, not 4"),
        (b"run_id,qid,ts\nr,q,2026-11-16\n", "no column for the verdict among 'run_id', 'qid'"),
        (b"run_id,qid,pased,ts\nr,q,1,2026-11-16\n", "is 'pased' meant"),
        (b"r1,q1,pass\nr1,q2,fail\n", "no column for the run"),
        (bytes(range(256)) * 4, "is a binary file"),
        (b"\x1f\x8b\x08\x00rest", "is gzip-compressed"),
        (b"PK\x03\x04rest", "is zip-compressed"),
        (b"PAR1 and no more", "not readable as Parquet"),
        (b"[1, 2, 3]", "is a JSON list"),
        (b"run_id,qid,passed,ts\nr,q,,2026-11-16\n", "run 'r' has no valid verdict"),
        (b"run_id,qid,passed,ts\n,q,1,2026-11-16\n", "line 2 has no run"),
    ],
)
def test_unusable_files_get_one_clear_line(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_wide_table_is_told_to_be_made_long(tmp_path):
    header = ",".join(["agent", *(f"question-{i}" for i in range(30))])
    with pytest.raises(InputError, match=r"and 23 more.*must be made long first"):
        read_text(tmp_path, f"{header}\nx{',1' * 30}\n")


def test_an_endless_id_is_refused_without_repeating_it(tmp_path) -> None:
    endless = "q" * 5000
    text = f"run_id,question_id,passed,started_at\nr,{endless},1,2026-11-01\n"
    with pytest.raises(InputError, match=r"line 2, column `question_id`.*5,000 characters") as told:
        read_text(tmp_path, text)
    assert endless not in str(told.value)
