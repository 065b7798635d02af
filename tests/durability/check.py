"""What must hold of a history whatever happened to its writers."""

from pathlib import Path

from jobs.upkeep.doctor import examine
from storage.file.backups import backup_problem, list_backups
from storage.file.checkup import history_facts
from storage.file.history import History
from storage.ledger import JobStatus, list_job_runs
from storage.runs.runs import list_runs
from tests.durability.work import BENCHMARK, QUESTIONS, app_on


def acknowledged(folder: Path) -> set[str]:
    """Runs whose import was reported as a success."""
    return set((folder / "acknowledged").read_text().split())


def assert_whole(folder: Path) -> None:
    """History opens; whole runs, all acknowledged ones; ledger true; doctor without a fault."""
    path = folder / "history.duckdb"
    with History.open(path) as history:
        runs = list_runs(history, BENCHMARK)
        assert acknowledged(folder) <= {run.run_key for run in runs}
        assert {run.n_verdicts for run in runs} == {len(QUESTIONS)}
        facts = history_facts(history)
        assert facts.damage == ()
        assert facts.losses == ()
        nights = {
            date for (date,) in history.rows("SELECT calibration_date::DATE FROM calibration")
        }
        done = {job.date for job in list_job_runs(history) if job.status is JobStatus.DONE}
        assert done == nights
    checkup = examine(app_on(folder))
    assert checkup.ok, checkup
    for backup in list_backups(folder / "recurring-eval-backups", path):
        assert backup_problem(backup.path) == ""
