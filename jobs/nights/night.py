"""One night of one benchmark and family: read, compute, store in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from jobs.app.app import App
from jobs.app.benchmark_view import BenchmarkView
from jobs.app.config import window_days
from jobs.app.targets import Target
from jobs.nights.fit import PARTS_AT_A_TIME, NightlyFit, fit_night, timed
from jobs.nights.history import CalibrationWindow, NightlyHistory, load_night
from recurring_eval.caching import Cache, build_cache
from recurring_eval.methods.calibration import Calibration, CalibrationRuns
from recurring_eval.methods.registry import DEFAULT_FIXED, model_kinds
from recurring_eval.records import Subset
from recurring_eval.replay.gain import replayed_gain
from recurring_eval.subsets import PublishDecision, should_publish, sticky_subset, stratified_subset
from storage.calibrations.caches import save_cache
from storage.calibrations.calibrations import CalibrationInfo, save_calibration
from storage.calibrations.subsets import save_subset
from storage.file.history import History
from storage.ledger import JobStatus, finish_job

Choice = tuple[Subset, PublishDecision]
"""Tonight's candidate for one size, and whether it replaces the published subset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night's task.

    Attributes
    ----------
    target : Target
    day : date
        Date the night is keyed by; runs up to the end of it (UTC) count.
    cache_day : date
        Day the cache is for; only strictly earlier days feed it.
    view : BenchmarkView
    window : str
        Calibration window, such as ``28d`` or ``all``.
    new_subsets : bool
        Draw and publish fresh subsets.
    supersede : bool
        Replace a calibration of the same date.
    """

    target: Target
    day: date
    cache_day: date
    view: BenchmarkView
    window: str
    new_subsets: bool
    supersede: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NightResult:
    """What a night stored; `seconds` is the wall time of each phase."""

    calibration_id: int
    n_runs: int
    published: tuple[str, ...]
    message: str
    seconds: dict[str, float]


def plan_night(
    app: App,
    target: Target,
    day: date,
    *,
    window: str | None = None,
    new_subsets: bool = False,
    supersede: bool = False,
) -> Night:
    """Settle what a night works with.

    The cache is for today, or, for a night in the past, for the day after it.

    Raises
    ------
    InputError
        If `window` cannot be read.
    """
    view = app.view(target.benchmark)
    window = view.settings.window if window is None else window
    window_days(window)
    today = app.clock.now().date()
    return Night(
        target=target,
        day=day,
        cache_day=min(day + timedelta(days=1), max(today, day)),
        view=view,
        window=window,
        new_subsets=new_subsets,
        supersede=supersede,
    )


def run_night(app: App, night: Night, attempt: int, *, owner: str) -> NightResult:
    """Refit, choose subsets, rebuild the cache and store it all at once.

    Parameters
    ----------
    app : App
    night : Night
    attempt : int
        Ledger row to finish in the same transaction.
    owner : str
        Holder of its lease; when it was lost, nothing is stored.

    Raises
    ------
    HistoryError, NotEnoughDataError, FitError
        Nothing is stored then.
    """
    seconds: dict[str, float] = {}
    settings, seed = night.view.settings, app.settings.seed
    with timed(seconds, "load"), app.open_history(read_only=True) as history:
        data = load_night(
            history,
            night.target,
            night.day,
            night.view,
            n_days=window_days(night.window),
            cache_day=night.cache_day,
        )
    sizes = data.sizes(settings.subset_sizes)
    runs = CalibrationRuns(
        matrix=data.matrix,
        configurations=tuple(
            f"{run.agent}\n{run.agent_config}" if run.agent_config else ""
            for run in data.window.runs
        ),
        modes={"hspr": settings.hspr},
        n_threads=PARTS_AT_A_TIME,
    )
    fitted = fit_night(runs, sizes=sizes, seed=seed)
    seconds |= fitted.seconds
    with timed(seconds, "subsets"):
        choices = _choose_subsets(
            data, fitted.calibration, sizes, seed=seed, requested=night.new_subsets
        )
        cache = build_cache(
            data.cache_window,
            epsilon=settings.cache.epsilon,
            min_trials=settings.cache.min_trials,
        )
    message = _summary(data, choices, fitted)
    with timed(seconds, "store"), app.writing() as history:
        calibration_id, published = _store(history, app, night, data, fitted, choices, cache)
        finish_job(
            history,
            attempt,
            status=JobStatus.DONE,
            message=message,
            now=app.clock.now(),
            owner=owner,
        )
    return NightResult(
        calibration_id=calibration_id,
        n_runs=data.matrix.n_runs,
        published=published,
        message=message,
        seconds=seconds,
    )


def _choose_subsets(
    data: NightlyHistory,
    calibration: Calibration,
    sizes: Sequence[int],
    *,
    seed: int,
    requested: bool,
) -> list[Choice]:
    """Build a candidate per size and decide on its publication.

    Members of the published subset stay while they are inside their stratum, unless a person
    requested new subsets.
    """
    rasch, version = calibration.rasch, data.bank.version
    choices = []
    for k in sizes:
        previous = data.published.get(k)
        if previous is None or requested:
            candidate = stratified_subset(rasch, version, k, seed=seed)
        else:
            candidate = sticky_subset(previous, rasch, version, k, seed=seed)
        gain = None
        if previous is not None and previous.bank_version == version:
            gain = replayed_gain(
                data.matrix, previous, candidate, method=DEFAULT_FIXED, calibration=calibration
            ).certain_pp
        decision = should_publish(
            previous, bank_version=version, replayed_gain_pp=gain, requested=requested
        )
        choices.append((candidate, decision))
    return choices


def _store(
    history: History,
    app: App,
    night: Night,
    data: NightlyHistory,
    fitted: NightlyFit,
    choices: list[Choice],
    cache: Cache,
) -> tuple[int, tuple[str, ...]]:
    now = app.clock.now()
    target = night.target
    info = CalibrationInfo(
        benchmark=target.benchmark,
        bank_version=data.bank.version,
        agent_family=target.family,
        date=night.day,
        created_at=now,
        data_end=data.window.runs[-1].started_at,
        n_runs=data.matrix.n_runs,
        model_fingerprint=fitted.calibration.rasch.fingerprint,
        settings=_facts(night, data.window, fitted),
    )
    calibration_id = save_calibration(
        history,
        info,
        fitted.calibration,
        fitted.residuals,
        kinds=model_kinds(),
        supersede=night.supersede,
    )
    save_cache(
        history,
        cache,
        benchmark=target.benchmark,
        bank_version=data.bank.version,
        family=target.family,
        date=night.cache_day,
        created_at=now,
    )
    published = tuple(
        save_subset(
            history,
            candidate,
            benchmark=target.benchmark,
            family=target.family,
            calibration_id=calibration_id,
            published_at=now,
            active=candidate.k not in data.overtaken,
        )
        for candidate, decision in choices
        if decision.publish
    )
    return calibration_id, published


def _facts(night: Night, chosen: CalibrationWindow, fitted: NightlyFit) -> dict[str, object]:
    return {
        "window": night.window,
        "stretched": chosen.stretched,
        "n_under_covered": len(chosen.under_covered),
        "cache_days": night.view.settings.cache.days,
        "missing": dict(night.view.settings.missing),
        "run_to_run_variance": fitted.run_to_run_variance,
        "without": dict(fitted.calibration.without),
        "models": fitted.facts,
    }


def _summary(data: NightlyHistory, choices: Sequence[Choice], fitted: NightlyFit) -> str:
    """Summarise in a line what the night fitted and published."""
    window = data.window
    parts = [
        f"{len(window.runs)} runs, {fitted.calibration.rasch.n_iterations} Newton steps",
        *fitted.described,
    ]
    if window.stretched:
        parts.append("window extended backwards to hold more runs")
    if window.under_covered:
        n = len(window.under_covered)
        parts.append(f"{n} under-covered {'run' if n == 1 else 'runs'} kept out")
    if not choices:
        n = len(data.bank.question_ids)
        parts.append(f"no subset_sizes below {n} questions; ask with `recurring-eval subset --k`")
    published: dict[str, list[str]] = {}
    for candidate, decision in choices:
        if decision.publish:
            past = ", for that past night only" if candidate.k in data.overtaken else ""
            published.setdefault(decision.reason + past, []).append(str(candidate.k))
    parts += [f"published k={', '.join(ks)}: {reason}" for reason, ks in published.items()]
    return "; ".join(parts)
