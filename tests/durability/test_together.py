"""Six processes at once: nobody's update is lost, nobody waits without end."""

from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

from storage.file.history import History
from storage.ledger import JobStatus, list_job_runs
from tests.durability.check import assert_whole
from tests.durability.work import compete

ROLES = ("import", "import", "recalibrate", "recalibrate", "read", "read")


def together(processes: BaseContext, folder: Path, seconds: float) -> dict[str, list[float]]:
    """Let six processes work; the seconds of each round by role."""
    started = [
        processes.Process(target=compete, args=(role, str(folder), str(number + 1), seconds))
        for number, role in enumerate(ROLES)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join(seconds + 120)
        assert process.exitcode == 0
    times: dict[str, list[float]] = {}
    for number in range(len(ROLES)):
        for line in (folder / f"log-{number + 1}").read_text().splitlines():
            role, took, outcome = line.split("\t")
            assert outcome == "fine", outcome
            times.setdefault(role, []).append(float(took))
    assert_whole(folder)
    with History.open(folder / "history.duckdb", read_only=True) as history:
        jobs = [job for job in list_job_runs(history) if job.status is JobStatus.DONE]
    assert len(jobs) == len(times["recalibrate"])
    return times


def test_six_processes_for_a_moment(processes: BaseContext, folder: Path) -> None:
    together(processes, folder, 3)


@pytest.mark.torture
def test_six_processes_for_a_minute(processes: BaseContext, folder: Path) -> None:
    times = together(processes, folder, 60)
    print()
    for role, seconds in times.items():
        print(f"{role}: {len(seconds)} rounds, longest {max(seconds):.2f} s")
