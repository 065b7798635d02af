"""Names that people give to the columns of a long table."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from jobs.harnesses.table.column import Column, RawTable, normalised
from recurring_eval.errors import InputError

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "run": ("run_id", "run", "eval_id", "experiment", "build", "date"),
    # `id` last: beside another of these it is the number of a row.
    "question": (
        *("question_id", "task_id", "item_id", "instance_id", "sample_id"),
        *("test", "nodeid", "qid", "id"),
    ),
    "trial": ("trial", "attempt", "epoch", "repeat", "repetition", "seed", "k"),
    "verdict": (
        *("passed", "pass", "success", "resolved", "correct", "is_correct"),
        *("verdict", "outcome", "result", "status", "score", "reward"),
    ),
    "error": ("error", "exception", "failure_reason"),
    "status": ("status",),
    "time": ("started_at", "created_at", "timestamp", "ts", "date"),
    "finished": ("completed_at", "finished_at"),
    "duration": ("duration_s", "latency_ms", "total_time"),
    "cost": ("cost", "cost_usd"),
    "benchmark": ("benchmark", "suite"),
    "agent": ("agent",),
    "agent_version": ("agent_version",),
    "model": ("model",),
    "commit": ("commit",),
    "config_hash": ("config_hash",),
    "tags": ("tags",),
    "purpose": ("purpose",),
    "agent_family": ("agent_family",),
    "subset": ("subset_id",),
    "session": ("session_id",),
}
"""Meaning -> column names, the preferred one first."""

KNOWN: Final = frozenset(name for names in NAMES.values() for name in names)
REQUIRED: Final = ("run", "question", "verdict", "time")

_SHOWN: Final = 8
_WIDE: Final = 12


def wanted_headers(headers: list[str]) -> dict[str, int]:
    """Position of each known column by normalised name.

    Raises
    ------
    InputError
        If two columns have the same known name.
    """
    positions: dict[str, int] = {}
    for position, header in enumerate(headers):
        name = normalised(header)
        if name in KNOWN:
            if name in positions:
                raise InputError(
                    f"columns {headers[positions[name]]!r} and {header!r} have the same name; "
                    "rename or remove one"
                )
            positions[name] = position
    return positions


def choose_columns(table: RawTable) -> tuple[Mapping[str, Column], list[str]]:
    """Pick the column of each meaning.

    Returns
    -------
    chosen : mapping
        Meaning -> column, for the meanings the table has.
    notes : list of str
        Which column was taken where there were several.

    Raises
    ------
    InputError
        If a required meaning has no column.
    """
    written = {name: column.name for name, column in table.columns.items()}
    chosen, notes = choose_names(
        written, table.headers, lambda name: has_content(table.columns[name])
    )
    return {meaning: table.columns[name] for meaning, name in chosen.items()}, notes


def choose_names(
    written: Mapping[str, str], headers: Sequence[str], is_filled: Callable[[str], bool]
) -> tuple[dict[str, str], list[str]]:
    """Pick the name of each meaning's column; as `choose_columns`, without the columns.

    Parameters
    ----------
    written : mapping
        Normalised name -> name as written, of the known columns.
    headers : sequence of str
        Every column of the file.
    is_filled : callable
        Whether the column of a normalised name has any content.
    """
    chosen: dict[str, str] = {}
    notes: list[str] = []
    for meaning, names in NAMES.items():
        present = [name for name in names if name in written]
        if not present:
            continue
        best = present[0]
        if len(present) > 1:
            best = next((name for name in present if is_filled(name)), best)
        chosen[meaning] = best
        others = [f"`{written[name]}`" for name in present if name != best]
        if others and meaning in ("run", "question", "trial", "verdict"):
            notes.append(
                f"column `{written[best]}` gives the {meaning}; "
                f"not used for that: {', '.join(others)}"
            )
    _require(chosen, headers)
    if chosen.get("status") == chosen["verdict"]:
        del chosen["status"]
    return chosen, notes


def has_content(column: Column) -> bool:
    """Whether any cell holds anything."""
    if len(column.values) > 1 or column.is_temporal:
        return len(column.values) > 0
    return any(value is not None and str(value).strip() for value in column.scalars())


def _require(chosen: Mapping[str, str], headers: Sequence[str]) -> None:
    lacking = [meaning for meaning in REQUIRED if meaning not in chosen]
    if not lacking:
        return
    meaning, names = lacking[0], NAMES[lacking[0]]
    shown = ", ".join(repr(header) for header in headers[:_SHOWN])
    more = f" and {len(headers) - _SHOWN} more" if len(headers) > _SHOWN else ""
    advice = f"name one column {', '.join(names[:-1])} or {names[-1]}"
    near = [h for h in headers if difflib.get_close_matches(normalised(h), names, 1, 0.8)]
    if near:
        advice = f"is {near[0]!r} meant? Then {advice}"
    elif len(lacking) > 1 and len(headers) > _WIDE:
        advice += "; a table with a column per question or run must be made long first"
    raise InputError(f"no column for the {meaning} among {shown}{more}; {advice}")
