"""Damaged files are read or refused in one line; nothing else happens."""

import json
import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from recurring_eval.errors import InputError
from tests.jobs.harnesses.tables import read

COLUMNS = {
    "run_id": ["run-ä"] * 20 + ["run-2"] * 20,
    "question_id": [f"q-{i:03d}" for i in range(20)] * 2,
    "trial": [1] * 40,
    "passed": [True, False, None, True] * 10,
    "error": [None, None, "timeout, after 3 s", None] * 10,
    "started_at": [f"2026-11-16T09:00:{i:02d}Z" for i in range(40)],
    "agent": ["agent"] * 40,
}


def intact(kind, path):
    table = pa.table(COLUMNS)
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()) + "\n")
    return path.read_bytes()


def damaged(content, rng):
    """Cut short, a few bytes changed, or a piece lost."""
    content = bytearray(content)
    way = rng.randrange(3)
    if way == 0:
        return content[: rng.randrange(len(content))]
    if way == 1:
        for _ in range(rng.choice([1, 2, 10])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        return content
    start = rng.randrange(len(content))
    del content[start : start + rng.randrange(1, 100)]
    return content


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_damage_is_refused_or_harmless(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    content = intact(kind, path)
    assert sum(len(log.outcome) for log in read(path).runs) == 40
    rng = random.Random(2026)
    refusals = []
    for _ in range(150):
        path.write_bytes(damaged(content, rng))
        try:
            file = read(path)
        except InputError as error:
            refusals.append(str(error))
        else:
            assert file.runs
    assert len(refusals) > 50
    assert not any("\n" in refusal for refusal in refusals)
