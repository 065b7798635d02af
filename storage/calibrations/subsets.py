"""Subsets that were handed out, with the one active version of each kind."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np

from recurring_eval.records import Subset
from storage.file.history import History
from storage.references import not_one
from storage.runs.benchmarks import bank_question_ids, benchmark_row_id
from storage.values import columns, to_utc

HASH_LETTERS: Final = 8
COLUMNS: Final = """
SELECT s.subset_id, b.name, k.version, s.agent_family, s.design, s.seed, s.model_fingerprint,
       s.calibration_id, s.published_at, s.active, s.retired_at
FROM subset AS s JOIN benchmark AS b USING (benchmark_id) JOIN bank AS k USING (bank_id)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetRecord:
    """A stored subset.

    Attributes
    ----------
    subset_id : str
        What users see, e.g. ``swebench-verified-k100-3f9a2c1b``.
    benchmark, agent_family : str
    subset : Subset
    calibration_id : int or None
        Calibration whose model chose the questions.
    published_at : datetime
    active : bool
        Whether it is the current version for its benchmark, family, k and design.
    retired_at : datetime or None
        When a newer version took its place.
    """

    subset_id: str
    benchmark: str
    agent_family: str
    subset: Subset
    calibration_id: int | None
    published_at: datetime
    active: bool
    retired_at: datetime | None


def save_subset(
    history: History,
    subset: Subset,
    *,
    benchmark: str,
    family: str,
    calibration_id: int | None,
    published_at: datetime,
    active: bool = True,
) -> str:
    """Store a subset and return its id; the same questions and weights keep their id.

    With `active`, it becomes the current version for its benchmark, family, k
    and design, and the previous one is retired.
    """
    benchmark_id = benchmark_row_id(history, benchmark)
    bank_id, questions = bank_question_ids(
        history, benchmark, subset.bank_version, subset.question_ids
    )
    moment = to_utc(published_at, "`published_at`")
    subset_id = _same_subset(history, subset, benchmark_id, family)
    if subset_id is None:
        name = f"{benchmark}-k{subset.k}-{subset.sha256[:HASH_LETTERS]}"
        subset_id = history.free_name("subset", "subset_id", name)
        history.insert_row(
            "subset",
            subset_id=subset_id,
            benchmark_id=benchmark_id,
            bank_id=bank_id,
            agent_family=family,
            design=subset.design,
            k=subset.k,
            seed=subset.seed,
            sha256=subset.sha256,
            model_fingerprint=subset.model_fingerprint,
            calibration_id=calibration_id,
            published_at=moment,
            active=False,
        )
        history.insert(
            "subset_question",
            columns(
                {
                    "subset_id": subset_id,
                    "question_id": questions,
                    "position": range(subset.k),
                    "weight": subset.weights,
                }
            ),
        )
    if active:
        history.execute(
            "UPDATE subset SET active = false, retired_at = ? WHERE active AND subset_id <> ?"
            " AND benchmark_id = ? AND agent_family = ? AND k = ? AND design = ?",
            [moment, subset_id, benchmark_id, family, subset.k, subset.design],
        )
        history.execute(
            "UPDATE subset SET active = true, retired_at = NULL WHERE subset_id = ?", [subset_id]
        )
    return subset_id


def published_subset(
    history: History, benchmark: str, family: str, k: int, design: str
) -> SubsetRecord | None:
    """Active version for this k and design, or None."""
    found = published_subsets(history, benchmark, family)
    return next((r for r in found if r.subset.k == k and r.subset.design == design), None)


def published_subsets(history: History, benchmark: str, family: str) -> list[SubsetRecord]:
    """Active subsets of a benchmark and family, by design and k."""
    return _records(
        history,
        "s.active AND s.benchmark_id = ? AND s.agent_family = ? ORDER BY s.design, s.k",
        [benchmark_row_id(history, benchmark), family],
    )


def list_subsets(history: History, benchmark: str, family: str) -> list[SubsetRecord]:
    """Every version of every subset of a benchmark and family, in order of publication."""
    return _records(
        history,
        "s.benchmark_id = ? AND s.agent_family = ? ORDER BY s.published_at, s.subset_id",
        [benchmark_row_id(history, benchmark), family],
    )


def subset_benchmarks(history: History) -> dict[str, str]:
    """Benchmark of every stored subset, by subset id."""
    return dict(
        history.rows(
            "SELECT s.subset_id, b.name FROM subset AS s JOIN benchmark AS b USING (benchmark_id)"
        )
    )


def find_subset(history: History, subset_id: str) -> SubsetRecord:
    """Subset by its id.

    Raises
    ------
    InputError
        If there is none, naming those that come near.
    """
    found = _records(history, "s.subset_id = ?", [subset_id])
    if found:
        return found[0]
    newest = "SELECT subset_id FROM subset ORDER BY published_at DESC, subset_id"
    raise not_one(
        "subset",
        subset_id,
        found=(),
        known=[known for (known,) in history.rows(newest)],
        advice="ask for one with `recurring-eval subset`",
    )


def _same_subset(history: History, subset: Subset, benchmark_id: int, family: str) -> str | None:
    """Id under which the family has this subset already, weights included."""
    rows = history.rows(
        "SELECT subset_id FROM subset"
        " WHERE benchmark_id = ? AND agent_family = ? AND sha256 = ? ORDER BY published_at",
        [benchmark_id, family, subset.sha256],
    )
    for (subset_id,) in rows:
        if np.array_equal(_questions(history, subset_id)[1], subset.weights):
            return str(subset_id)
    return None


def _records(history: History, condition: str, values: Sequence[object]) -> list[SubsetRecord]:
    return [_record(history, row) for row in history.rows(f"{COLUMNS} WHERE {condition}", values)]


def _record(history: History, row: tuple[Any, ...]) -> SubsetRecord:
    subset_id, benchmark, version, family, design, seed, fingerprint = row[:7]
    calibration_id, published_at, active, retired_at = row[7:]
    question_ids, weights = _questions(history, subset_id)
    return SubsetRecord(
        subset_id=subset_id,
        benchmark=benchmark,
        agent_family=family,
        subset=Subset(
            question_ids=question_ids,
            weights=weights,
            design=design,
            seed=seed,
            bank_version=version,
            model_fingerprint=fingerprint,
        ),
        calibration_id=calibration_id,
        published_at=published_at,
        active=active,
        retired_at=retired_at,
    )


def _questions(history: History, subset_id: str) -> tuple[tuple[str, ...], np.ndarray]:
    rows = history.rows(
        "SELECT q.question_key, s.weight FROM subset_question AS s"
        " JOIN question AS q USING (question_id) WHERE s.subset_id = ? ORDER BY s.position",
        [subset_id],
    )
    return tuple(key for key, _ in rows), np.array([weight for _, weight in rows])
