"""What a night reads from the history before it computes anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from jobs.calibration_window import CalibrationWindow, choose_window, end_of
from jobs.config import BenchmarkSettings
from jobs.subset_versions import SubsetVersions
from jobs.targets import Target
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.records import Bank, RunPurpose, Subset
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets import STRATIFIED
from storage.benchmarks import current_bank
from storage.history import History
from storage.runs import list_runs
from storage.subsets import published_subsets
from storage.verdicts import load_matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyHistory:
    """Data of one night.

    Attributes
    ----------
    bank : Bank
    window : CalibrationWindow
    matrix : ResponseMatrix
        Verdicts of the window's runs on the bank's questions.
    configurations : tuple of str
        Agent and configuration of each run, empty where unknown.
    cache_window : ResponseMatrix
        Executed verdicts of routine runs on the days before the cache's.
    published : dict of int to Subset
        Stratified subsets in force that night, by size.
    overtaken : frozenset of int
        Sizes whose active subset was chosen from the data of later nights.
    """

    bank: Bank
    window: CalibrationWindow
    matrix: ResponseMatrix
    configurations: tuple[str, ...]
    cache_window: ResponseMatrix
    published: dict[int, Subset]
    overtaken: frozenset[int]

    def sizes(self, configured: Sequence[int]) -> list[int]:
        """List the configured and published sizes below the number of questions."""
        n = len(self.bank.question_ids)
        return sorted(k for k in {*configured, *self.published} if k < n)


def load_night(
    history: History,
    target: Target,
    day: date,
    settings: BenchmarkSettings,
    *,
    n_days: int | None,
    cache_day: date,
) -> NightlyHistory:
    """Read the calibration window, the cache window and the published subsets.

    Raises
    ------
    NotEnoughDataError
        If the benchmark has no questions or no usable full run up to `day`.
    """
    bank = current_bank(history, target.benchmark)
    if bank is None:
        raise NotEnoughDataError(
            f"benchmark {target.benchmark!r} has no questions yet; import runs"
        )
    runs = list_runs(history, target.benchmark, family=target.family, before=end_of(day))
    window = choose_window(runs, day, n_days=n_days, minimum_runs=settings.minimum_runs)
    if not window.runs:
        raise NotEnoughDataError(
            f"no full run of {target} up to {day} has enough valid verdicts; import full runs"
        )
    cache_start = datetime.combine(
        cache_day - timedelta(days=settings.cache.days), time(), tzinfo=UTC
    )
    cache_end = datetime.combine(cache_day, time(), tzinfo=UTC)
    routine = [
        run
        for run in runs
        if run.purpose is RunPurpose.ROUTINE and cache_start <= run.started_at < cache_end
    ]
    as_fail = failing_reasons(settings)
    published, overtaken = _published_that_night(history, target, end_of(day))
    return NightlyHistory(
        bank=bank,
        window=window,
        matrix=load_matrix(history, window.runs, bank.question_ids, missing_as_fail=as_fail),
        configurations=tuple(
            f"{run.agent}\n{run.agent_config}" if run.agent_config else "" for run in window.runs
        ),
        cache_window=load_matrix(history, routine, bank.question_ids, missing_as_fail=as_fail),
        published=published,
        overtaken=overtaken,
    )


def _published_that_night(
    history: History, target: Target, end: datetime
) -> tuple[dict[int, Subset], frozenset[int]]:
    """Stratified subsets in force, without those that only later nights could know."""
    versions = SubsetVersions.load(history, target)
    later = {record.subset_id: record.subset.k for record in versions.overtaken(end)}
    found = [
        *versions.in_force(end),
        *(r for r in published_subsets(history, *target.key) if r.subset_id not in later),
    ]
    published = {r.subset.k: r.subset for r in found if r.subset.design == STRATIFIED}
    return published, frozenset(later.values())


def failing_reasons(settings: BenchmarkSettings) -> list[str]:
    """Reasons for which a missing verdict counts as a fail."""
    return sorted(reason for reason, rule in settings.missing.items() if rule == "fail")
