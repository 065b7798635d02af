"""Which full runs calibrate a night."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from jobs.app.benchmark_view import BenchmarkView
from jobs.app.targets import Target
from jobs.estimating.asked import SubsetVersions
from recurring_eval.errors import NotEnoughDataError
from recurring_eval.records import Bank, Run, RunKind, RunPurpose, Subset
from recurring_eval.response_matrix import ResponseMatrix
from recurring_eval.subsets import STRATIFIED
from storage.calibrations.subsets import published_subsets
from storage.file.history import History
from storage.runs.benchmarks import current_bank
from storage.runs.runs import list_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationWindow:
    """Full runs of one family that calibrate one date.

    Attributes
    ----------
    runs : tuple of Run
        In order of start, then key.
    under_covered : tuple of Run
        Full runs of the window kept out because too few verdicts are valid.
    stretched : bool
        Whether the window was extended backwards to hold the minimum of runs.
    """

    runs: tuple[Run, ...]
    under_covered: tuple[Run, ...]
    stretched: bool


def end_of(day: date) -> datetime:
    """First instant after a UTC date."""
    return datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC)


def choose_window(
    runs: Sequence[Run], day: date, *, n_days: int | None, minimum_runs: int
) -> CalibrationWindow:
    """Take the full runs of the last days up to and with a date.

    Parameters
    ----------
    runs : sequence of Run
        Runs of one benchmark and family, in order of start.
    day : date
        UTC date the calibration is keyed by; its own runs count.
    n_days : int or None
        Days of the window; None for the whole history.
    minimum_runs : int
        A shorter window is extended backwards until it holds this many usable runs.
    """
    before = [run for run in runs if run.kind is RunKind.FULL and run.started_at < end_of(day)]
    usable = [run for run in before if not run.under_covered]
    first = None if n_days is None else end_of(day) - timedelta(days=n_days)
    n_inside = sum(first is None or run.started_at >= first for run in usable)
    n_taken = min(len(usable), max(n_inside, minimum_runs))
    taken = usable[len(usable) - n_taken :]
    stretched = n_taken > n_inside
    since = taken[0].started_at if stretched else first
    return CalibrationWindow(
        runs=tuple(taken),
        under_covered=tuple(
            run
            for run in before
            if run.under_covered and (since is None or run.started_at >= since)
        ),
        stretched=stretched,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NightlyHistory:
    """Data of one night.

    Attributes
    ----------
    bank : Bank
    window : CalibrationWindow
    matrix : ResponseMatrix
        Verdicts of the window's runs on the bank's questions.
    cache_window : ResponseMatrix
        Executed verdicts of routine runs on the days before the cache's.
    published : dict of int to Subset
        Stratified subsets in use that night, by size.
    overtaken : frozenset of int
        Sizes whose active subset was chosen from the data of later nights.
    """

    bank: Bank
    window: CalibrationWindow
    matrix: ResponseMatrix
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
    view: BenchmarkView,
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
    settings, bank = view.settings, current_bank(history, target.benchmark)
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
    published, overtaken = _published_that_night(history, target, end_of(day))
    return NightlyHistory(
        bank=bank,
        window=window,
        matrix=view.matrix(history, window.runs, bank.question_ids),
        cache_window=view.matrix(history, routine, bank.question_ids),
        published=published,
        overtaken=overtaken,
    )


def _published_that_night(
    history: History, target: Target, end: datetime
) -> tuple[dict[int, Subset], frozenset[int]]:
    """Stratified subsets in use, without those that only later nights could know."""
    versions = SubsetVersions.load(history, target)
    later = {record.subset_id: record.subset.k for record in versions.overtaken(end)}
    found = [
        *versions.in_use(end),
        *(r for r in published_subsets(history, *target.key) if r.subset_id not in later),
    ]
    published = {r.subset.k: r.subset for r in found if r.subset.design == STRATIFIED}
    return published, frozenset(later.values())
