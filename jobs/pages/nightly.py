"""The nightly report page: its sections in reading order, and writing it with the index."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import date
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Final

from jobs.app.app import App
from jobs.app.console import to_json
from jobs.app.targets import Target, choose_targets
from jobs.app.whole_file import write_whole
from jobs.nights.recalibrate import Recalibration
from jobs.pages.estimates import errors_by_k, hspr_sources, run_history, todays_errors
from jobs.pages.night_data import NightData
from jobs.pages.operations import data_health, job_ledger, open_alerts, subsets_in_use
from jobs.pages.questions import cache_window, difficulty_map, flagged_questions
from jobs.schedule.ledger import failure_message
from recurring_eval.errors import InputError
from reports.attention import attention_points
from reports.cache import CacheWindow
from reports.headline import Headline
from reports.index_page import INDEX_NAME, IndexEntry, index_pages, report_file_name
from reports.nightly_page import NightlyPage, PageSection
from reports.render import render_index, render_nightly
from storage.calibrations.calibrations import list_calibrations
from storage.file.history import History

SECTIONS: Final[tuple[Callable[[NightData], PageSection], ...]] = (
    run_history,
    errors_by_k,
    difficulty_map,
    cache_window,
    hspr_sources,
    flagged_questions,
    subsets_in_use,
    job_ledger,
)
"""What a page shows below its first screen, in reading order."""

ENTRY_SUFFIX: Final = ".entry.json"
"""Beside each report: what the index says about it."""


def nightly_page(app: App, history: History, target: Target, day: date) -> NightlyPage:
    """Gather everything the page of one night shows.

    Parameters
    ----------
    app : App
    history : History
        Open; read only.
    target : Target
    day : date
        Date of the night; later runs are left out.
    """
    night = NightData.load(app, history, target, day)
    calibration, full = night.calibration, night.full_runs
    sections = tuple(section(night) for section in SECTIONS)
    cached = [day for s in sections if isinstance(s, CacheWindow) for day in s.days]
    return NightlyPage(
        benchmark=target.benchmark,
        agent_family=target.family,
        day=day,
        made_at=app.clock.now(),
        version=installed_version("recurring-eval"),
        bank_version="" if calibration is None else calibration.info.bank_version[:12],
        n_questions=0 if calibration is None else calibration.fitted.n_questions,
        interval_level=night.view.level,
        headline=Headline(
            last_full_run=full[-1] if full else None,
            previous_pass_rate=full[-2].pass_rate if len(full) > 1 else None,
            errors=todays_errors(night),
            cache_share=cached[-1].share_cached if cached else None,
            health=data_health(night),
        ),
        sections=sections,
        open_alerts=open_alerts(night),
        index_href=INDEX_NAME,
    )


def publish_nightly_reports(app: App, results: Sequence[Recalibration]) -> list[Path]:
    """Write a page for every night that was calibrated, and the index.

    Returns
    -------
    list of Path
        The pages written.
    """
    nights = [
        (Target(benchmark=result.benchmark, family=result.agent_family), result.date)
        for result in results
        if result.status in ("calibrated", "kept")
    ]
    return _publish(app, nights)


def publish_night(app: App, target: Target, day: date) -> Path:
    """Write the page of one night, and the index."""
    return _publish(app, [(target, day)])[0]


def publish_latest_reports(
    app: App, *, benchmark: str | None = None, family: str | None = None
) -> list[Path]:
    """Write the page of the last night of every benchmark and family again, and the index."""
    nights = []
    with app.open_history(read_only=True) as history:
        for target in choose_targets(history, benchmark=benchmark, family=family):
            found = list_calibrations(history, target.benchmark, target.family)
            nights.append((target, found[-1].date if found else app.clock.now().date()))
    return _publish(app, nights)


def _publish(app: App, nights: Sequence[tuple[Target, date]]) -> list[Path]:
    if not nights:
        return []
    folder = app.settings.reports
    written, failures = [], []
    for target, day in nights:
        app.console.progress(f"writing the report of {target} for {day}")
        try:
            written.append(_publish_one(app, target, day))
        except Exception as error:
            failures.append(f"the report of {target} for {day}: {failure_message(error)}")
    entries = [_read_entry(path) for path in sorted(folder.glob(f"*{ENTRY_SUFFIX}"))]
    pages = index_pages(
        entries, made_at=app.clock.now(), version=installed_version("recurring-eval")
    )
    for name, index in pages.items():
        write_whole(folder / name, render_index(index))
    if failures:
        raise InputError(f"not written: {'; '.join(failures)}")
    return written


def _publish_one(app: App, target: Target, day: date) -> Path:
    with app.open_history(read_only=True) as history:
        page = nightly_page(app, history, target, day)
    path = app.settings.reports / report_file_name(target.benchmark, target.family, day)
    write_whole(path, render_nightly(page))
    write_whole(path.with_suffix(ENTRY_SUFFIX), to_json(asdict(_entry(page, path.name))))
    return path


def index_path(app: App) -> Path:
    """Path of the index over the reports."""
    return app.settings.reports / INDEX_NAME


def _entry(page: NightlyPage, href: str) -> IndexEntry:
    errors = page.headline.errors
    last = page.headline.last_full_run
    return IndexEntry(
        benchmark=page.benchmark,
        agent_family=page.agent_family,
        day=page.day,
        href=href,
        pass_rate=None if last is None else last.pass_rate,
        expected_error_pp=errors[0].expected_error_pp if errors else None,
        error_label=f"{errors[0].method}, k {errors[0].k}" if errors else "",
        cache_share=page.headline.cache_share,
        n_attention=len(attention_points(page)),
    )


def _read_entry(path: Path) -> IndexEntry:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return IndexEntry(**fields | {"day": date.fromisoformat(fields["day"])})
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}); remove it and run `recurring-eval report`"
        ) from None
