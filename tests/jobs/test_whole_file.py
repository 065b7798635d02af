"""Files are whole or absent; cells never run as formulas."""

import csv
import io
from pathlib import Path

import pytest

from jobs.app.whole_file import csv_text, write_whole


def test_a_file_is_replaced_as_a_whole_and_its_folder_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file.csv"
    write_whole(path, "a\n")
    write_whole(path, "b\n")
    assert path.read_text() == "b\n"
    assert [p.name for p in path.parent.iterdir()] == ["file.csv"]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    write_whole(path, "a\n")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "a\n"
    assert [p.name for p in tmp_path.iterdir()] == ["file.csv"]


def test_cells_round_trip_and_formulas_are_made_harmless() -> None:
    rows = [("=1+1", 0.1, None), ('a,"b"', float("nan"), 3), ("-x", -0.5, "@y")]
    read = list(csv.reader(io.StringIO(csv_text(("name", "x", "y"), rows))))
    assert read == [
        ["name", "x", "y"],
        ["'=1+1", "0.1", ""],
        ['a,"b"', "", "3"],
        ["'-x", "-0.5", "'@y"],
    ]
