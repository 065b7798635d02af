"""What the history holds, in numbers."""

from dataclasses import dataclass
from datetime import datetime

from recurring_eval.records import FULL_RUN_MIN_VALID
from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.times import from_store


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOverview:
    """One benchmark in numbers.

    Attributes
    ----------
    benchmark : str
    bank_version : str or None
        Current one; None before the first import.
    n_questions, n_bank_versions : int
    families : tuple of str
    n_runs, n_full_runs, n_under_covered : int
        All runs; FULL runs; FULL runs with too few valid verdicts.
    n_verdicts, n_missing : int
    missing_by_reason : dict of str to int
    first_started_at, last_started_at, last_imported_at : datetime or None
    """

    benchmark: str
    bank_version: str | None
    n_questions: int
    n_bank_versions: int
    families: tuple[str, ...]
    n_runs: int
    n_full_runs: int
    n_under_covered: int
    n_verdicts: int
    n_missing: int
    missing_by_reason: dict[str, int]
    first_started_at: datetime | None
    last_started_at: datetime | None
    last_imported_at: datetime | None


def overview(history: History) -> list[BenchmarkOverview]:
    """Every benchmark in numbers, by name."""
    benchmarks = history.rows(
        "SELECT b.benchmark_id, b.name, k.version, coalesce(k.n_questions, 0),"
        " (SELECT count(*) FROM bank WHERE bank.benchmark_id = b.benchmark_id)"
        " FROM benchmark AS b LEFT JOIN bank AS k ON k.bank_id = b.current_bank_id ORDER BY b.name"
    )
    return [_benchmark(history, *row) for row in benchmarks]


def agent_families(history: History, benchmark: str) -> list[str]:
    """Agent families with runs of the benchmark, sorted."""
    rows = history.rows(
        "SELECT DISTINCT agent_family FROM run WHERE benchmark_id = ? ORDER BY agent_family",
        [benchmark_row_id(history, benchmark)],
    )
    return [family for (family,) in rows]


def _benchmark(
    history: History, benchmark_id: int, name: str, version: str | None, size: int, versions: int
) -> BenchmarkOverview:
    ((runs, full, thin, verdicts, missing, first, last, imported),) = history.rows(
        "SELECT count(*), count(*) FILTER (kind = 'full'),"
        " count(*) FILTER (kind = 'full' AND n_valid < ?::DOUBLE * k.n_questions),"
        " coalesce(sum(n_verdicts), 0), coalesce(sum(n_missing), 0), min(started_at),"
        " max(started_at), max(imported_at)"
        " FROM run JOIN bank AS k USING (bank_id) WHERE run.benchmark_id = ?",
        [FULL_RUN_MIN_VALID, benchmark_id],
    )
    reasons = history.rows(
        f"SELECT reason, count(*) FROM {history.verdict_source()} AS v JOIN run USING (run_id)"
        " WHERE passed IS NULL AND benchmark_id = ? GROUP BY reason ORDER BY reason",
        [benchmark_id],
    )
    return BenchmarkOverview(
        benchmark=name,
        bank_version=version,
        n_questions=size,
        n_bank_versions=versions,
        families=tuple(agent_families(history, name)),
        n_runs=runs,
        n_full_runs=full,
        n_under_covered=thin,
        n_verdicts=verdicts,
        n_missing=missing,
        missing_by_reason=dict(reasons),
        first_started_at=from_store(first),
        last_started_at=from_store(last),
        last_imported_at=from_store(imported),
    )
