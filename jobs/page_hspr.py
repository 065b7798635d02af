"""The sources of HSPR and its latest estimates, for a nightly report page."""

from collections.abc import Sequence

from jobs.targets import Target
from recurring_eval.records import Flag, Run
from reports.context import HsprEstimate, HsprSources
from storage.calibration_records import CalibrationRecord
from storage.estimates import list_estimates
from storage.history import History

ESTIMATES_SHOWN = 20


def hspr_sources(
    history: History,
    target: Target,
    calibration: CalibrationRecord | None,
    runs: Sequence[Run],
) -> HsprSources | None:
    """Describe a calibration's sources and the estimates given for the runs; None without."""
    if calibration is None or calibration.hspr is None:
        return None
    model = calibration.hspr.model
    facts = calibration.settings.get("hspr") or {}
    return HsprSources(
        configuration=calibration.hspr.config.name,
        n_sources=len(model.source_ids),
        n_groups=model.n_groups,
        source_zero_share=model.source_zero_share,
        n_held_out=int(facts.get("held_out", 0)),
        selection_mae_pp=facts.get("mae_pp"),
        estimates=_latest(history, target, runs),
    )


def _latest(history: History, target: Target, runs: Sequence[Run]) -> tuple[HsprEstimate, ...]:
    """Last estimate by HSPR of each run, for the newest runs."""
    known = {run.run_id: run for run in runs}
    found: dict[int, HsprEstimate] = {}
    for record in list_estimates(history, target.benchmark):
        diagnostics = record.estimate.diagnostics
        if diagnostics is not None and record.run_id in known:
            found[record.run_id] = HsprEstimate(
                run_key=record.run_key,
                at=known[record.run_id].started_at,
                k=record.k,
                effective_sample_size=min(1.0, diagnostics.effective_sample_size),
                asked_source_zero_share=diagnostics.queried_source_zero_share,
                shift_pp=100.0 * diagnostics.calibration,
                extrapolating=Flag.EXTRAPOLATING in record.estimate.flags,
            )
    newest = sorted(found.values(), key=lambda one: (one.at, one.run_key))
    return tuple(newest[-ESTIMATES_SHOWN:])
