"""Replay methods on a history or a plain matrix and compare them."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.randomness import generator
from jobs.replaying.data import ReplayData, data_of_file, data_of_history
from jobs.replaying.journal import Done, fingerprint, open_journal
from jobs.replaying.options import ReplayOptions, ReplaySetup, set_up
from jobs.replaying.tasks import Progress, parallel_backend, run_tasks
from recurring_eval.errors import InputError, NotEnoughDataError
from recurring_eval.methods.registry import method_named
from recurring_eval.methods.replayed import ReplayMethod
from recurring_eval.replay import protocols
from recurring_eval.replay.advise import Advice, advise
from recurring_eval.replay.compare import PairedComparison, compare_methods
from recurring_eval.replay.engine import FoldEstimates
from recurring_eval.replay.summary import FoldKey, MetricRow, errors_by_target, summarise

COMPARED_ONLY: Final = (
    "None of these methods estimates a live run; they are here for comparison, "
    "so that a figure below is no advice to use one."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Outcome of a replay.

    Attributes
    ----------
    data : ReplayData
    setup : ReplaySetup
    rows : tuple of MetricRow
        By group, budget and method.
    comparisons : tuple of PairedComparison
        Of the first group's targets.
    advice : Advice
        About the first group.
    skipped : dict of str to str
        Methods without a row, and why.
    """

    data: ReplayData
    setup: ReplaySetup
    rows: tuple[MetricRow, ...]
    comparisons: tuple[PairedComparison, ...]
    advice: Advice
    skipped: dict[str, str]


def replay(
    app: App,
    options: ReplayOptions,
    *,
    path: Path | None = None,
    benchmark: str | None = None,
    output: Path | None = None,
    resume: bool = False,
    n_jobs: int = 1,
) -> Replay:
    """Try methods on past runs, as if only part of each had been executed.

    Parameters
    ----------
    app : App
    options : ReplayOptions
    path : Path, optional
        A plain matrix in place of the stored history.
    benchmark : str, optional
        Of the history.
    output : Path, optional
        Folder that keeps the journal.
    resume : bool
        Go on with the journal there.
    n_jobs : int
        Processes; they do not change the result.

    Raises
    ------
    InputError, NotEnoughDataError
    """
    if resume and output is None:
        raise InputError("--resume continues from a journal; name its folder with --output")
    if n_jobs < 1:
        raise InputError(f"{n_jobs} jobs; take at least 1")
    data = _load(app, options, path=path, benchmark=benchmark)
    for note in data.notes:
        app.console.note(note)
    setup, skipped = _possible(set_up(options, data), data)
    app.console.progress(
        f"{data.label}: {data.matrix.n_runs} runs, {data.matrix.n_questions} questions; "
        f"{setup.described}"
    )
    progress = Progress(app.console, n_seeds=len(setup.seeds), n_jobs=n_jobs)
    journal, done = None, Done()
    if output is not None:
        journal, done = open_journal(output, fingerprint(data, setup), resume=resume)
        if done:
            app.console.progress(f"{len(done)} folds and seeds are in the journal already")
    with nullcontext() if journal is None else journal.file, parallel_backend(app.settings.replay):
        try:
            results = run_tasks(data, setup, done, journal=journal, progress=progress)
        except KeyboardInterrupt:
            if output is not None:
                app.console.note(f"stopped; continue with --output {output} --resume")
            raise
    skipped |= {
        method: estimates.failure
        for (_, _, method), of_fold in results.items()
        for estimates in of_fold
        if estimates.failure
    }
    for method, reason in skipped.items():
        app.console.note(f"{method} is left out: {reason}")
    return _conclude(data, setup, results, skipped)


def _load(
    app: App, options: ReplayOptions, *, path: Path | None, benchmark: str | None
) -> ReplayData:
    is_transfer = options.protocol == protocols.TRANSFER
    if path is None:
        family = None if is_transfer else options.family
        return data_of_history(app, benchmark=benchmark, family=family, all_families=is_transfer)
    if benchmark is not None:
        raise InputError("--benchmark names a part of the history; leave it out with a file")
    return data_of_file(path, family=None if is_transfer else options.family)


def _possible(setup: ReplaySetup, data: ReplayData) -> tuple[ReplaySetup, dict[str, str]]:
    """Leave out methods that need the days of the runs where these are not known."""
    skipped = {
        name: "its window is counted in days, and these runs have no `started_at`"
        for name in setup.methods
        if method_named(name).budget_is_outcome and not data.timed
    }
    methods = tuple(name for name in setup.methods if name not in skipped)
    if not methods:
        raise InputError("; ".join(f"{name}: {reason}" for name, reason in skipped.items()))
    return replace(setup, methods=methods), skipped


def _conclude(
    data: ReplayData,
    setup: ReplaySetup,
    results: Mapping[FoldKey, Sequence[FoldEstimates]],
    skipped: dict[str, str],
) -> Replay:
    rows = summarise(setup.plan, results, data.matrix, methods=setup.methods, budgets=setup.budgets)
    first = [row for row in rows if row.group == setup.plan.group_names[0]]
    if not first:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise NotEnoughDataError(reasons or "no method has an estimate of any tested run")
    # Errors at different numbers of questions say nothing about which method is better.
    comparable = [row for row in first if not row.decides_budget]
    comparisons = compare_methods(
        errors_by_target(comparable, data.matrix.agents if setup.plan.by_agent else None),
        rng=generator(setup.seed, "replay", "compare"),
    )
    folds = [fold for split in setup.plan.splits for fold in split.folds]
    live = [row for row in rows if not isinstance(method_named(row.method), ReplayMethod)]
    advice = advise(
        live or rows,
        data.matrix,
        n_source=min(fold.source.size for fold in folds),
        n_targets=len({int(row) for fold in folds for row in fold.targets}),
    )
    if not live:
        advice = replace(advice, sentences=(COMPARED_ONLY, *advice.sentences))
    return Replay(
        data=data,
        setup=setup,
        rows=tuple(rows),
        comparisons=tuple(comparisons),
        advice=advice,
        skipped=skipped,
    )
