"""Times become UTC."""

from datetime import UTC, date, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recurring_eval.errors import InputError
from tests.jobs.harnesses.tables import read, read_text

NINE = datetime(2026, 11, 16, 9, tzinfo=UTC)


def started(tmp_path, text, **options):
    file = read_text(tmp_path, f"run_id,qid,passed,ts\nr,q,1,{text}\n", **options)
    return file.runs[0].started_at, file.notes


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-16T09:00:00Z",
        "2026-11-16 09:00:00+00:00",
        "2026-11-16T10:00:00.000000+01:00",
        "2026-11-16T09:00:00.000000000Z",
        "20261116T090000Z",
        "1794819600",
        "1794819600.0",
        "1794819600000",
    ],
)
def test_one_moment_in_many_words(tmp_path, text):
    moment, notes = started(tmp_path, text)
    assert moment == NINE
    assert moment.tzinfo is UTC
    assert not any("zone" in note for note in notes)


def test_times_without_a_zone_are_utc_with_a_note_or_local_on_request(tmp_path):
    moment, notes = started(tmp_path, "2026-11-16T09:00:00")
    assert moment == NINE
    assert any("no zone; read as UTC" in note for note in notes)
    # Berlin is one hour ahead in winter, two in summer.
    local, notes = started(tmp_path, "2026-11-16T09:00:00", timezone="Europe/Berlin")
    assert local == NINE - timedelta(hours=1)
    assert not any("zone" in note for note in notes)
    summer, _ = started(tmp_path, "2026-07-16T09:00:00", timezone="Europe/Berlin")
    assert summer == datetime(2026, 7, 16, 7, tzinfo=UTC)


def test_a_date_alone_is_its_midnight(tmp_path):
    moment, notes = started(tmp_path, "2026-11-16")
    assert moment == datetime(2026, 11, 16, tzinfo=UTC)
    assert not any("zone" in note for note in notes)


@pytest.mark.parametrize(
    "text", ["16/11/2026", "16.11.2026 09:00", "yesterday", "12", "0001-01-01"]
)
def test_unreadable_times_are_refused_with_their_line(tmp_path, text):
    with pytest.raises(InputError, match="line 2, column `ts`"):
        started(tmp_path, text)


def test_an_unknown_zone_is_refused(tmp_path):
    with pytest.raises(InputError, match="unknown time zone 'Mars/Olympus'"):
        started(tmp_path, "2026-11-16T09:00:00", timezone="Mars/Olympus")


def test_a_run_starts_at_its_earliest_verdict_and_ends_at_its_latest(tmp_path):
    text = (
        "run_id,qid,passed,started_at,completed_at\n"
        "r,a,1,2026-11-16T09:30:00Z,2026-11-16T09:40:00Z\n"
        "r,b,1,2026-11-16T09:00:00Z,\n"
        "r,c,1,,2026-11-16T09:10:00Z\n"
    )
    (log,) = read_text(tmp_path, text).runs
    assert log.started_at == NINE
    assert log.finished_at == NINE + timedelta(minutes=40)


def test_a_run_without_time_is_refused(tmp_path):
    with pytest.raises(InputError, match="no column for the time"):
        read_text(tmp_path, "run_id,qid,passed\nr,q,1\n")
    with pytest.raises(InputError, match="run 'r' has no time in column `ts`"):
        read_text(tmp_path, "run_id,qid,passed,ts\nr,q,1,\n")


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("ns", "UTC"),
        pa.timestamp("s", "America/Los_Angeles"),
        pa.timestamp("ms", "+02:00"),
    ],
)
def test_parquet_times_keep_their_moment(tmp_path, kind):
    column = pa.array([NINE.astimezone(timezone(timedelta(hours=5)))], pa.timestamp("us", "UTC"))
    path = tmp_path / "t.parquet"
    columns = {"run_id": ["r"], "qid": ["q"], "passed": [True], "ts": column.cast(kind)}
    pq.write_table(pa.table(columns), path)
    assert read(path).runs[0].started_at == NINE


def test_parquet_dates_and_naive_times(tmp_path):
    for value, expected, n_notes in (
        (pa.array([date(2026, 11, 16)]), datetime(2026, 11, 16, tzinfo=UTC), 0),
        (pa.array([datetime(2026, 11, 16, 9)]), NINE, 1),  # noqa: DTZ001  # naive on purpose
    ):
        path = tmp_path / "t.parquet"
        columns = {"run_id": ["r"], "qid": ["q"], "passed": [1], "agent": ["a"], "ts": value}
        pq.write_table(pa.table(columns), path)
        file = read(path)
        assert file.runs[0].started_at == expected
        assert len(file.notes) == n_notes
