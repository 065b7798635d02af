"""Benchmarks, the versions of their banks, and what is stored of each in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.records import FULL_RUN_MIN_VALID, Bank
from storage.file.history import History
from storage.references import refuse_unknown
from storage.values import columns, to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBank:
    """A bank version with the history's integers for it and its questions."""

    bank_id: int
    bank: Bank
    question_row_ids: NDArray[np.int32]


def benchmark_names(history: History) -> list[str]:
    """Names of the benchmarks, sorted."""
    return [name for (name,) in history.rows("SELECT name FROM benchmark ORDER BY name")]


def create_benchmark(history: History, name: str, *, now: datetime) -> None:
    """Add a benchmark without a bank.

    Raises
    ------
    InputError
        If the name is empty or taken.
    """
    if not name.strip():
        raise InputError("the name of a benchmark must not be empty")
    if name in benchmark_names(history):
        raise InputError(f"the history has a benchmark {name!r} already")
    history.insert_row(
        "benchmark",
        benchmark_id=history.next_id("benchmark"),
        name=name,
        created_at=to_utc(now, "the creation time"),
    )


def benchmark_row_id(history: History, name: str) -> int:
    """Integer of the benchmark in the history.

    Raises
    ------
    InputError
        If there is none, listing those there are.
    """
    rows = history.rows("SELECT benchmark_id FROM benchmark WHERE name = ?", [name])
    if not rows:
        known = ", ".join(benchmark_names(history)) or "none yet"
        raise InputError(f"the history has no benchmark {name!r}; it has: {known}")
    return int(rows[0][0])


def current_bank(history: History, benchmark: str) -> Bank | None:
    """Latest version of the benchmark's bank, or None before the first import."""
    stored = stored_bank(history, benchmark)
    return None if stored is None else stored.bank


def bank_by_version(history: History, benchmark: str, version: str) -> Bank:
    """Bank of a benchmark at the version (its whole hash).

    Raises
    ------
    InputError
        If the benchmark never had this version.
    """
    return _bank_at(history, benchmark, version).bank


def _bank_at(history: History, benchmark: str, version: str) -> StoredBank:
    stored = stored_bank(history, benchmark, version=version)
    if stored is None:
        raise InputError(f"benchmark {benchmark!r} has no bank version {version[:12]}")
    return stored


def stored_bank(
    history: History, benchmark: str, *, version: str | None = None
) -> StoredBank | None:
    """Bank at the version, or the current one; None if there is none."""
    benchmark_id = benchmark_row_id(history, benchmark)
    if version is None:
        chosen = history.rows(
            "SELECT current_bank_id FROM benchmark"
            " WHERE benchmark_id = ? AND current_bank_id IS NOT NULL",
            [benchmark_id],
        )
    else:
        chosen = history.rows(
            "SELECT bank_id FROM bank WHERE benchmark_id = ? AND version = ?",
            [benchmark_id, version],
        )
    if not chosen:
        return None
    bank_id = int(chosen[0][0])
    rows = history.rows(
        "SELECT question_key, content_hash, question_id FROM bank_question"
        " WHERE bank_id = ? ORDER BY question_key",
        [bank_id],
    )
    keys, hashes, ids = zip(*rows, strict=True) if rows else ((), (), ())
    bank = Bank(benchmark=benchmark, question_ids=keys, content_hashes=hashes)
    return StoredBank(bank_id=bank_id, bank=bank, question_row_ids=np.array(ids, dtype=np.int32))


def bank_question_ids(
    history: History, benchmark: str, version: str, question_ids: Sequence[str]
) -> tuple[int, list[int]]:
    """Integers of a bank version and of questions of it, in order.

    Raises
    ------
    InputError
        If the benchmark lacks the version, or the version one of the questions.
    """
    stored = _bank_at(history, benchmark, version)
    ids = dict(zip(stored.bank.question_ids, stored.question_row_ids.tolist(), strict=True))
    refuse_unknown(question_ids, ids, "questions")
    return stored.bank_id, [ids[key] for key in question_ids]


def stored_questions(history: History, benchmark_id: int) -> list[tuple[str, str, int]]:
    """Key, content hash and integer of every question there ever was, the newest last."""
    return history.rows(
        "SELECT question_key, content_hash, question_id FROM question"
        " WHERE benchmark_id = ? ORDER BY question_id",
        [benchmark_id],
    )


def save_bank(history: History, bank: Bank, *, now: datetime) -> None:
    """Make `bank` the current version of its benchmark.

    A version that is stored already is only made current again. A question
    whose content hash differs from every stored one is a new question; where
    either hash is unknown (empty) it is the same question.
    """
    benchmark_id = benchmark_row_id(history, bank.benchmark)
    stored = stored_bank(history, bank.benchmark, version=bank.version)
    bank_id = history.next_id("bank") if stored is None else stored.bank_id
    if stored is None:
        question_ids = _question_rows(history, benchmark_id, bank)
        history.insert_row(
            "bank",
            bank_id=bank_id,
            benchmark_id=benchmark_id,
            version=bank.version,
            n_questions=len(bank.question_ids),
            created_at=to_utc(now, "the time of the bank"),
        )
        history.insert(
            "bank_question",
            columns(
                {
                    "bank_id": bank_id,
                    "question_id": question_ids,
                    "question_key": bank.question_ids,
                    "content_hash": bank.content_hashes,
                }
            ),
        )
    history.execute(
        "UPDATE benchmark SET current_bank_id = ? WHERE benchmark_id = ?", [bank_id, benchmark_id]
    )


def _question_rows(history: History, benchmark_id: int, bank: Bank) -> list[int]:
    """Ids of the bank's questions, adding those the history does not have."""
    rows = stored_questions(history, benchmark_id)
    exact = {(key, content): question_id for key, content, question_id in rows}
    newest = {key: question_id for key, _, question_id in rows}
    next_id = history.next_id("question")
    ids: list[int] = []
    added: list[tuple[int, str, str]] = []
    for key, content in zip(bank.question_ids, bank.content_hashes, strict=True):
        known = exact.get((key, content))
        if known is None and content and (key, "") in exact:
            known = exact[key, ""]
            history.execute(
                "UPDATE question SET content_hash = ? WHERE question_id = ?", [content, known]
            )
        if known is None and not content:
            known = newest.get(key)
        if known is None:
            known = next_id + len(added)
            added.append((known, key, content))
        ids.append(known)
    _insert_questions(history, benchmark_id, added)
    return ids


def _insert_questions(
    history: History, benchmark_id: int, added: Sequence[tuple[int, str, str]]
) -> None:
    if not added:
        return
    ids, keys, hashes = zip(*added, strict=True)
    history.insert(
        "question",
        columns(
            {
                "question_id": ids,
                "benchmark_id": benchmark_id,
                "question_key": keys,
                "content_hash": hashes,
            }
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkOverview:
    """One benchmark in numbers.

    Attributes
    ----------
    benchmark : str
    bank_version : str or None
        Current one; None before the first import.
    n_questions, n_bank_versions : int
    families : tuple of str
    n_runs, n_full_runs, n_under_covered : int
        All runs; FULL runs; FULL runs with too few valid verdicts.
    n_verdicts, n_missing : int
    missing_by_reason : dict of str to int
    first_started_at, last_started_at, last_imported_at : datetime or None
    """

    benchmark: str
    bank_version: str | None
    n_questions: int
    n_bank_versions: int
    families: tuple[str, ...]
    n_runs: int
    n_full_runs: int
    n_under_covered: int
    n_verdicts: int
    n_missing: int
    missing_by_reason: dict[str, int]
    first_started_at: datetime | None
    last_started_at: datetime | None
    last_imported_at: datetime | None


def overview(history: History) -> list[BenchmarkOverview]:
    """Every benchmark in numbers, by name."""
    benchmarks = history.rows(
        "SELECT b.benchmark_id, b.name, k.version, coalesce(k.n_questions, 0),"
        " (SELECT count(*) FROM bank WHERE bank.benchmark_id = b.benchmark_id)"
        " FROM benchmark AS b LEFT JOIN bank AS k ON k.bank_id = b.current_bank_id ORDER BY b.name"
    )
    return [_benchmark(history, *row) for row in benchmarks]


def agent_families(history: History, benchmark: str) -> list[str]:
    """Agent families with runs of the benchmark, sorted."""
    rows = history.rows(
        "SELECT DISTINCT agent_family FROM run WHERE benchmark_id = ? ORDER BY agent_family",
        [benchmark_row_id(history, benchmark)],
    )
    return [family for (family,) in rows]


def _benchmark(
    history: History, benchmark_id: int, name: str, version: str | None, size: int, versions: int
) -> BenchmarkOverview:
    ((runs, full, thin, verdicts, missing, first, last, imported),) = history.rows(
        "SELECT count(*), count(*) FILTER (kind = 'full'),"
        " count(*) FILTER (kind = 'full' AND n_valid < ?::DOUBLE * k.n_questions),"
        " coalesce(sum(n_verdicts), 0), coalesce(sum(n_missing), 0), min(started_at),"
        " max(started_at), max(imported_at)"
        " FROM run JOIN bank AS k USING (bank_id) WHERE run.benchmark_id = ?",
        [FULL_RUN_MIN_VALID, benchmark_id],
    )
    reasons = history.rows(
        f"SELECT reason, count(*) FROM {history.verdict_source()} AS v JOIN run USING (run_id)"
        " WHERE passed IS NULL AND benchmark_id = ? GROUP BY reason ORDER BY reason",
        [benchmark_id],
    )
    return BenchmarkOverview(
        benchmark=name,
        bank_version=version,
        n_questions=size,
        n_bank_versions=versions,
        families=tuple(agent_families(history, name)),
        n_runs=runs,
        n_full_runs=full,
        n_under_covered=thin,
        n_verdicts=verdicts,
        n_missing=missing,
        missing_by_reason=dict(reasons),
        first_started_at=first,
        last_started_at=last,
        last_imported_at=imported,
    )
