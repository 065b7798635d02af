"""A full disk, a read-only folder, missing rights: clear messages, nothing half-written."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jobs.demo import write_long_table
from storage.file.checkup import history_facts
from storage.file.history import History
from storage.runs.runs import list_runs
from tests.durability.work import BENCHMARK, run_log
from tests.jobs.command_line import Outcome

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from jobs.cli import main; main()"


def mounted(options: str, source: str, folder: Path) -> bool:
    done = subprocess.run(
        ["mount", *options.split(), source, folder], capture_output=True, check=False
    )
    return done.returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path, folder: Path) -> Iterator[Path]:
    """The project on a disk with little room left."""
    place = tmp_path / "disk"
    place.mkdir()
    if not mounted("-t tmpfs -o size=24m", "tmpfs", place):
        pytest.skip("mounting a small tmpfs needs root")
    try:
        shutil.copytree(folder, place, dirs_exist_ok=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=False)


def command(folder: Path, *arguments: str | Path, through: Sequence[str] = ()) -> Outcome:
    """Run the command line as a process of its own, perhaps through another program."""
    done = subprocess.run(
        [*through, sys.executable, "-c", MAIN, *map(str, arguments), "--config", folder],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Outcome(code=done.returncode, out=done.stdout, err=done.stderr)


def keys(folder: Path) -> list[str]:
    with History.open(folder / "history.duckdb") as history:
        assert history_facts(history).damage == ()
        return [run.run_key for run in list_runs(history, BENCHMARK)]


def fill(folder: Path, *, leave: int) -> Path:
    """Fill a disk but for some bytes."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        file.write(b"\0" * max(shutil.disk_usage(folder).free - leave, 0))
    return filler


def test_import_to_a_full_disk_stores_nothing_and_says_so(small_disk: Path, tmp_path: Path) -> None:
    before = keys(small_disk)
    table = tmp_path / "more.parquet"
    write_long_table(table, [run_log(f"more-{number}", number) for number in range(2000)])
    outcome = None
    for leave in (0, 4096, 60_000, 300_000):
        filler = fill(small_disk, leave=leave)
        outcome = command(small_disk, "import", table)
        filler.unlink()
        if outcome.code == 0:
            break
        assert outcome.code == 1
        (line,) = [text for text in outcome.err.splitlines() if text.startswith("error: ")]
        assert "No space left" in line or "disk" in line, line
        assert keys(small_disk) == before
        assert command(small_disk, "doctor", "--json").code in (0, 1)
    shutil.rmtree(small_disk / "recurring-eval-backups")
    assert command(small_disk, "import", table).code == 0
    assert len(keys(small_disk)) == len(before) + 2000


@pytest.mark.parametrize("job", ["backup", "compact", "retain --days 1", "export out"])
def test_other_jobs_on_a_full_disk_leave_no_halves(small_disk: Path, job: str) -> None:
    before = keys(small_disk)
    files = sorted(file.name for file in small_disk.rglob("*") if file.is_file())
    filler = fill(small_disk, leave=2048)
    outcome = command(small_disk, *job.replace("out", str(small_disk / "out")).split())
    filler.unlink()
    assert outcome.code == 1
    (line,) = [text for text in outcome.err.splitlines() if text.startswith("error: ")]
    assert "No space left" in line or "disk" in line, line
    assert keys(small_disk) == before
    left = {file.name for file in small_disk.rglob("*") if file.is_file()}
    assert not [name for name in left - set(files) if "partial" in name]
    assert command(small_disk, "doctor").code == 0


def test_read_only_folder_can_be_read_and_says_why_not_written(
    tmp_path: Path, folder: Path
) -> None:
    place = tmp_path / "ro"
    place.mkdir()
    if not mounted("--bind", str(folder), place):
        pytest.skip("mounting needs root")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        table = tmp_path / "more.parquet"
        write_long_table(table, [run_log("more", 7)])
        status = command(place, "status", "--json")
        assert status.code == 0
        assert json.loads(status.out)["benchmarks"][0]["n_runs"] == 12
        for job in (("import", table), ("backup",), ("compact",), ("recalibrate",)):
            outcome = command(place, *job)
            assert outcome.code == 1, job
            assert "Read-only file system" in outcome.err, outcome.err
        checkup = json.loads(command(place, "doctor", "--json").out)
        assert {c["name"]: c["status"] for c in checkup["checks"]}["integrity"] == "ok"
    finally:
        subprocess.run(["umount", "-l", place], check=False)
    assert len(keys(folder)) == 12


def test_missing_rights_are_named(folder: Path, tmp_path: Path) -> None:
    # Without these capabilities even root is held to the rights of files.
    bound = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root without setpriv is not held to the rights of files")
    else:
        bound = ()
    table = tmp_path / "more.parquet"
    write_long_table(table, [run_log("more", 7)])
    history = folder / "history.duckdb"
    history.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert command(folder, "status", through=bound).code == 0
        for job in (("import", table), ("backup", "--to", folder / "b"), ("compact",)):
            outcome = command(folder, *job, through=bound)
            assert outcome.code == 1
            assert "ermission denied" in outcome.err, outcome.err
        history.chmod(0o000)
        outcome = command(folder, "status", through=bound)
        assert outcome.code == 1
        assert "ermission denied" in outcome.err
        assert "right to read and write" in outcome.err
    finally:
        folder.chmod(0o755)
        history.chmod(0o644)
    assert len(keys(folder)) == 12
