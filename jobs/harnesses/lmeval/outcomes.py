"""Which filter and metric of lm-eval decide, and what they say."""

from collections.abc import Callable, Mapping, Sequence

from jobs.harnesses.json_files import as_number
from jobs.harnesses.lmeval.sample_rows import SampleRow, filters_of, metrics_of
from jobs.harnesses.run_builder import SKIPPED, LoggedVerdict, missing_reason
from jobs.harnesses.verdict_rule import VerdictRule, choose, score_outcome
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS


def judge_rows(
    task: str,
    rows: Sequence[SampleRow],
    rule: VerdictRule,
    higher_is_better: Mapping[str, object],
) -> tuple[list[LoggedVerdict], list[str]]:
    """Verdicts of the documents, one per document whatever the number of filters.

    Where several filters or metrics give the same verdict on every document, it does
    not matter which decides, and nothing is asked.

    Raises
    ------
    InputError
        Listing the choices where they matter, or naming a document whose metric is no verdict.
    """
    notes: list[str] = []

    def outcomes(chosen: Sequence[SampleRow], metric: str) -> list[int]:
        lower = higher_is_better.get(metric) is False
        return [_outcome(row, metric, rule, lower_is_better=lower) for row in chosen]

    def all_metrics(name: str) -> list[list[int]]:
        chosen = [row for row in rows if row.filter == name]
        metrics = metrics_of(chosen) if rule.verdict is None else [rule.verdict]
        return [outcomes(chosen, metric) for metric in metrics]

    filters = filters_of(rows)
    name = _decide(task, "filter", filters, rule.filter, all_metrics, notes)
    chosen = [row for row in rows if row.filter == name]
    metrics = metrics_of(chosen)
    if not metrics:
        raise InputError("has no metric; run lm-eval without --predict_only")
    metric = _decide(task, "metric", metrics, rule.verdict, lambda m: outcomes(chosen, m), notes)
    verdicts = [
        LoggedVerdict(
            question=row.key,
            outcome=outcome,
            reason=missing_reason(SKIPPED, "not scored") if outcome == MISSING else "",
        )
        for row, outcome in zip(chosen, outcomes(chosen, metric), strict=True)
    ]
    return verdicts, notes


def _decide(
    task: str,
    what: str,
    choices: Sequence[str],
    named: str | None,
    outcomes: Callable[[str], object],
    notes: list[str],
) -> str:
    if named is None and len(choices) > 1:
        try:
            found = [outcomes(choice) for choice in choices]
        except InputError:
            found = []
        if found and all(other == found[0] for other in found):
            notes.append(f"{what}s {', '.join(choices)} give the same verdicts on every question")
            return choices[0]
    option = "--filter" if what == "filter" else "--verdict"
    return choose(what, choices, named, option=option, task=task)


def _outcome(row: SampleRow, metric: str, rule: VerdictRule, *, lower_is_better: bool) -> int:
    if metric not in row.metrics:
        raise InputError(f"document {row.doc_id} has no metric {metric!r}")
    value = row.metrics[metric]
    if value is None:
        return MISSING
    number = float(value) if isinstance(value, bool) else as_number(value)
    if number != number and not isinstance(value, float):
        raise InputError(
            f"metric {metric!r} of document {row.doc_id} is {value!r:.40}, no verdict on it; "
            "name another with --verdict"
        )
    if not lower_is_better:
        return score_outcome(number, rule.threshold, where=f"document {row.doc_id}, {metric},")
    if number != number:
        return MISSING
    if rule.threshold is None:
        raise InputError(
            f"metric {metric!r} is better when lower; say up to which value it is a pass with"
            " --threshold T, or name another with --verdict"
        )
    return PASS if number <= rule.threshold else FAIL
