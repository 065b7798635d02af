"""An estimate in words, and as a document."""

from typing import Final

from jobs.estimating.run_estimates import RunEstimate
from recurring_eval.records import Flag, HsprDiagnostics

CAUTIONS: Final = {
    Flag.EXTRAPOLATING: "the run is better or worse than every calibrated run",
    Flag.FEW_VALID: "fewer than 80 % of the chosen questions have a valid verdict",
    Flag.STALE_CALIBRATION: "the calibration's data are more than 7 days older than the run",
    Flag.PROVISIONAL_INTERVAL: "the interval rests on fewer than 9 replayed runs",
    Flag.FEW_RESIDUALS: "too few replayed runs for this level; the interval is widened",
}
"""What each flag means to a reader."""


def describe(result: RunEstimate) -> list[str]:
    """Describe what was counted, what it means for the whole bank, and what a rerun would give."""
    estimate = result.estimate
    level = f"{100 * estimate.level:.0f} %"
    count = f"{result.n_passed:g} of {estimate.n_valid} answered questions passed"
    missing = estimate.n_asked - estimate.n_valid
    gaps = f" ({missing} of {estimate.n_asked} without a valid verdict)" if missing else ""
    lines = [
        f"{count}{gaps}; full pass rate {100 * estimate.pass_rate:.1f} % "
        f"({level} interval {_range(estimate.low, estimate.high)}); the same agent run again "
        f"would land in {_range(estimate.rerun_low, estimate.rerun_high)}."
    ]
    lines.append(
        f"{result.run_key}: {estimate.method}, {estimate.n_asked} of {result.n_questions} "
        f"questions, calibration {result.calibration_id}; {_missing_rule(result)}."
    )
    if estimate.diagnostics is not None:
        lines.append(_sources(estimate.diagnostics))
    lines += [f"caution: {CAUTIONS[flag]}" for flag in estimate.flags]
    return lines


def document(result: RunEstimate) -> dict[str, object]:
    """Build the stable JSON document of an estimate; pass rates are fractions."""
    estimate = result.estimate
    return {
        "run_id": result.run_key,
        "method": estimate.method,
        "k": result.k,
        "pass_rate": estimate.pass_rate,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "n_asked": estimate.n_asked,
        "n_valid": estimate.n_valid,
        "n_passed": result.n_passed,
        "rerun_low": estimate.rerun_low,
        "rerun_high": estimate.rerun_high,
        "flags": estimate.flags,
        "benchmark": result.benchmark,
        "subset_id": result.subset_id,
        "calibration_id": result.calibration_id,
        "model_fingerprint": estimate.model_fingerprint,
        "missing_as_fail": result.failing_reasons,
        "distribution": estimate.distribution,
        "diagnostics": estimate.diagnostics,
    }


def _sources(found: HsprDiagnostics) -> str:
    return (
        f"hspr {found.configuration}: {found.n_sources} sources in {found.n_groups} groups, "
        f"{100 * found.source_zero_share:.1f} % of the questions passed by none of them; "
        f"effective sample size {100 * found.effective_sample_size:.0f} %."
    )


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f}-{100 * high:.1f} %"


def _missing_rule(result: RunEstimate) -> str:
    if not result.failing_reasons:
        return "missing verdicts are missing, never fails"
    return f"missing verdicts count as fails when the reason is {', '.join(result.failing_reasons)}"
