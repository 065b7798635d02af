"""What a night did, in the line that the ledger keeps."""

from collections.abc import Sequence

from jobs.nights.fit import NightlyModel
from jobs.nights.history import NightlyHistory
from jobs.nights.subsets import SubsetChoice


def summary_of_night(
    data: NightlyHistory, choices: Sequence[SubsetChoice], fitted: NightlyModel
) -> str:
    """Say in a line what the night fitted and published."""
    window = data.window
    parts = [
        f"{len(window.runs)} runs, {fitted.model.n_iterations} Newton steps",
        _several_abilities(fitted),
        _sources(fitted),
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
    for choice in choices:
        if choice.decision.publish:
            k = choice.candidate.k
            past = ", for that past night only" if k in data.overtaken else ""
            published.setdefault(choice.decision.reason + past, []).append(str(k))
    parts += [f"published k={', '.join(ks)}: {reason}" for reason, ks in published.items()]
    return "; ".join(parts)


def _several_abilities(fitted: NightlyModel) -> str:
    model = fitted.mirt
    if model is None:
        return f"no M2PL: {fitted.without_mirt}"
    unsettled = "" if model.converged else ", not converged"
    return (
        f"M2PL with {model.n_dimensions} dimensions, "
        f"discrimination SD {model.discrimination_sd:g}{unsettled}"
    )


def _sources(fitted: NightlyModel) -> str:
    calibration = fitted.hspr.calibration
    if calibration is None:
        return f"no hspr: {fitted.hspr.without}"
    model, selected = calibration.model, calibration.selection is not None
    return (
        f"hspr ({calibration.config.name if selected else 'average'}) on "
        f"{len(model.source_ids)} sources in {model.n_groups} groups"
    )
