"""Verdicts of instances in the four forms SWE-bench writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from jobs.harnesses.json_files import (
    JsonObject,
    as_list,
    as_number,
    as_object,
    as_text,
    inside,
    read_json,
)
from jobs.harnesses.log_values import check_id
from jobs.harnesses.run_builder import ERROR, NOT_RUN, SKIPPED, LoggedVerdict, missing_reason
from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS

EMPTY_PATCH: Final = "empty-patch"
INFRA_FAILURE: Final = "infra-failure"

_NO_PATCH: Final = missing_reason(SKIPPED, "no patch")
_INFRA: Final = missing_reason(ERROR, "infrastructure")
_FAILING: Final = ("generated", "with_logs", "applied", "test_errored", "test_timeout")


def of_report(report: JsonObject, rule: VerdictRule) -> tuple[list[LoggedVerdict], list[str]]:
    """Verdicts of a run report or an sb-cli report.

    The lists overlap; what an instance is, is decided by resolved, then error, then unresolved.

    Raises
    ------
    InputError
        If the report only says what was resolved.
    """
    ids = {key: _ids(report, key) for key in report if key.endswith("_ids")}
    if not {"unresolved_ids", "completed_ids"} & ids.keys():
        raise InputError(
            "lists what was resolved but not what failed; import the run's full report, or its"
            " logs/run_evaluation folder"
        )
    infra = set(ids.get("infra_failure_ids", ()))
    failing = ids.get("unresolved_ids", ids.get("completed_ids", []))
    found: dict[str, LoggedVerdict] = {}
    for key in ids.get("resolved_ids", ()):
        found[key] = LoggedVerdict(question=key, outcome=PASS)
    for key in ids.get("error_ids", ()):
        found.setdefault(key, _missing(key, ERROR))
    for key in failing:
        found.setdefault(key, _unresolved(key, rule, is_infra=key in infra))
    for key in ids.get("empty_patch_ids", ()):
        found.setdefault(key, _empty(key, rule))
    for key in ids.get("failed_ids", ()):
        found.setdefault(key, _missing(key, ERROR))
    for key in (*ids.get("pending_ids", ()), *ids.get("incomplete_ids", ())):
        found.setdefault(key, _missing(key, NOT_RUN))
    strangers = [key for key in ids.get("submitted_ids", ()) if key not in found]
    notes = []
    if "incomplete_ids" not in ids:
        # sb-cli does not say what became of them.
        found |= {key: _missing(key, ERROR) for key in strangers}
    elif strangers:
        notes.append(
            f"{len(strangers)} submitted ids are not in the dataset and were dropped: "
            + ", ".join(strangers[:5])
        )
    return list(found.values()), notes


def of_instance_reports(
    paths: Sequence[Path], rule: VerdictRule
) -> tuple[list[LoggedVerdict], list[str]]:
    """Verdicts of ``<instance>/report.json`` files; a damaged one is an error of its instance."""
    verdicts, broken = [], []
    for path in paths:
        try:
            report = read_json(path)
        except InputError:
            report = None
        key = path.parent.name
        entry = as_object(inside(report, key))
        check_id(key)
        if "resolved" not in entry:
            broken.append(key)
            verdicts.append(_missing(key, ERROR))
        elif entry["resolved"] is True:
            verdicts.append(LoggedVerdict(question=key, outcome=PASS))
        elif entry.get("patch_is_None") is True or entry.get("patch_exists") is False:
            verdicts.append(_empty(key, rule))
        else:
            is_infra = entry.get("infra_failure") is True
            verdicts.append(_unresolved(key, rule, is_infra=is_infra))
    notes = []
    if broken:
        notes.append(
            f"{len(broken)} report.json cannot be read, which counts as an error of: "
            + ", ".join(broken[:5])
        )
    return verdicts, notes


def of_leaderboard(results: JsonObject, rule: VerdictRule) -> list[LoggedVerdict]:
    """Verdicts that a leaderboard entry names; of the others it only says that they failed."""
    found: dict[str, LoggedVerdict] = {}
    for key in _ids(results, "resolved"):
        found[key] = LoggedVerdict(question=key, outcome=PASS)
    for key in _ids(results, "no_generation"):
        found.setdefault(key, _empty(key, rule))
    for name in ("no_logs", "install_fail", "reset_failed"):
        for key in _ids(results, name):
            found.setdefault(key, _missing(key, ERROR))
    for name in ("no_apply", *_FAILING):
        for key in _ids(results, name):
            found.setdefault(key, LoggedVerdict(question=key, outcome=FAIL))
    return list(found.values())


def of_details(details: JsonObject) -> list[LoggedVerdict]:
    """Verdicts of ``per_instance_details.json``, with their costs."""
    verdicts = []
    for key, entry in details.items():
        check_id(key)
        resolved = inside(entry, "resolved")
        cost = as_number(inside(entry, "cost"))
        outcome = int(resolved) if isinstance(resolved, bool) else MISSING
        verdicts.append(LoggedVerdict(question=key, outcome=outcome, reason=ERROR, cost=cost))
    return verdicts


def _ids(report: Mapping[str, object], name: str) -> list[str]:
    ids = [as_text(item) for item in as_list(report.get(name))]
    for key in ids:
        check_id(key)
    return list(dict.fromkeys(ids))


def _missing(key: str, reason: str) -> LoggedVerdict:
    return LoggedVerdict(question=key, outcome=MISSING, reason=reason)


def _empty(key: str, rule: VerdictRule) -> LoggedVerdict:
    return _counted(key, rule.count(EMPTY_PATCH, MISSING), _NO_PATCH)


def _unresolved(key: str, rule: VerdictRule, *, is_infra: bool) -> LoggedVerdict:
    return _counted(key, rule.count(INFRA_FAILURE, FAIL) if is_infra else FAIL, _INFRA)


def _counted(key: str, outcome: int, reason: str) -> LoggedVerdict:
    return LoggedVerdict(question=key, outcome=outcome, reason=reason)
