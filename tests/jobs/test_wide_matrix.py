"""Plain matrices: what is read, and one clear error for each bad form."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from jobs.replaying.data import read_wide_matrix
from recurring_eval.errors import InputError


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "matrix.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_agents_questions_and_missing_cells(tmp_path: Path) -> None:
    read = read_wide_matrix(write(tmp_path, "agent,q2,q1\nb,1,0\na,,1\n"))
    matrix = read.matrix
    assert matrix.question_ids == ("q1", "q2")
    assert matrix.run_ids == matrix.agents == ("b", "a")  # the file's order
    assert matrix.passes.tolist() == [[0, 1], [1, 0]]
    assert matrix.trials.tolist() == [[1, 1], [1, 0]]
    assert read.families == ("main", "main")
    assert not read.timed
    assert list(matrix.started_at) == sorted(matrix.started_at)


def test_runs_with_agents_families_and_times_come_in_time_order(tmp_path: Path) -> None:
    text = (
        "run_id;started_at;agent;family;q\n"
        "r1;2026-02-02T10:00:00+02:00;x;f;1.0\n"
        "r2;2026-02-02;y;;0.0\n"
        "r0;2026-02-02T08:00:00Z;x;f; 1 \n"
    )
    read = read_wide_matrix(write(tmp_path, text))
    assert read.matrix.run_ids == ("r2", "r0", "r1")
    assert read.matrix.agents == ("y", "x", "x")
    assert read.families == ("main", "f", "f")
    assert read.matrix.started_at[2] == datetime(2026, 2, 2, 8, tzinfo=UTC)
    assert read.timed
    assert read.notes == ()


def test_times_without_a_zone_are_utc_with_a_note(tmp_path: Path) -> None:
    read = read_wide_matrix(write(tmp_path, "agent,started_at,q\na,2026-01-01T09:00:00,1\n"))
    assert read.matrix.started_at == (datetime(2026, 1, 1, 9, tzinfo=UTC),)
    assert "no zone" in read.notes[0]


def test_several_runs_of_an_agent_get_names_of_their_own(tmp_path: Path) -> None:
    read = read_wide_matrix(write(tmp_path, "agent,q\na,1\na #2,0\na,0\na,1\n"))
    assert read.matrix.agents == ("a", "a #2", "a", "a")
    assert read.matrix.run_ids == ("a", "a #2", "a #3", "a #4")


def test_a_byte_order_mark_line_ends_and_quotes_are_understood(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbfagent,"q, one"\r\n"a ""x""",1\r\n\r\n'
    matrix = read_wide_matrix(write(tmp_path, text)).matrix
    assert matrix.question_ids == ("q, one",)
    assert matrix.run_ids == ('a "x"',)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "first line is empty"),
        ("\nagent,q\n", "first line is empty"),
        ("agent,q\n", "has a header but no rows"),
        ("agent\na\n", "no question columns"),
        ("agent,started_at\na,2026-01-01\n", "no question columns"),
        ("agent,q,q\na,1,1\n", "column `q` is there twice"),
        ("agent,q,\na,1,1\n", "column 3 has no name"),
        ("run,family,agent_family,q\nr,a,b,1\n", "`family` and `agent_family` mean the same"),
        ("agent,q1,q2\na,1,0\nb,1\n", "line 3 has 2 cells, not 3"),
        ("agent,q1,q2\na,1,0,1\n", "line 2 has 4 cells, not 3"),
        ("agent,q1,q2\na,1,0\nb,1,yes\n", "line 3, question 'q2': 'yes' is not 1, 0 or empty"),
        ("agent,q1\na,0.5\n", "line 2, question 'q1': '0.5'"),
        ("agent,q1\na,nan\n", "line 2, question 'q1': 'nan'"),
        ("agent,q1\na,1\n ,0\n", "line 3: the first column, which names the run, is empty"),
        ("run,q1\nr,1\nr,0\n", "line 3: run 'r' is there twice"),
        ("agent,started_at,q\na,soon,1\n", "line 2, column `started_at`: 'soon' is not a time"),
        ("agent,started_at,q\na,2026-01-01,1\nb,,1\n", "line 3, column `started_at`: the time is"),
        ('agent,q\n"a,1\n', "row 2 has 1 cells, not 2 as the header: the file is cut"),
        (b"agent,q\n\xff\xfe,1\n", "not text in UTF-8"),
        (b"agent,q\na\0,1\n", "NUL"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_wide_matrix(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "\n" not in message


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_wide_matrix(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_wide_matrix(tmp_path)


def test_every_cell_of_a_large_matrix_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, size=(300, 500))
    header = ",".join(["agent", *(f"q{j:03d}" for j in range(500))])
    lines = [",".join([f"a{i}", *map(str, row)]) for i, row in enumerate(cells)]
    matrix = read_wide_matrix(write(tmp_path, "\n".join([header, *lines]))).matrix
    assert (matrix.passes == cells).all()
