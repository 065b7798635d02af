"""Large files that were imported, to know them again without reading them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from storage.file.history import History
from storage.runs.benchmarks import benchmark_row_id
from storage.times import to_utc


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """A file all of whose runs are stored just as it has them.

    Attributes
    ----------
    fingerprint : str
        Of its bytes and of how they were read.
    file_hash : str
        Of its bytes.
    n_runs, n_verdicts : int
    """

    fingerprint: str
    file_hash: str
    n_runs: int
    n_verdicts: int


def remember_file(history: History, file: ImportedFile, *, now: datetime) -> None:
    """Note an imported file, inside the caller's transaction."""
    history.execute("DELETE FROM imported_file WHERE fingerprint = ?", [file.fingerprint])
    history.insert_row(
        "imported_file",
        fingerprint=file.fingerprint,
        file_hash=file.file_hash,
        n_runs=file.n_runs,
        n_verdicts=file.n_verdicts,
        imported_at=to_utc(now, "`now`"),
    )


def remembered_files(history: History) -> dict[str, ImportedFile]:
    """List imported files by fingerprint, without those of which a run was changed since."""
    rows = history.rows(
        "SELECT fingerprint, file_hash, f.n_runs, f.n_verdicts FROM imported_file AS f JOIN"
        " (SELECT file_hash, count(*) AS n_runs, sum(n_verdicts) AS n_verdicts"
        " FROM run GROUP BY file_hash) AS r USING (file_hash)"
        " WHERE f.n_runs = r.n_runs AND f.n_verdicts = r.n_verdicts"
    )
    return {
        fingerprint: ImportedFile(
            fingerprint=fingerprint, file_hash=file_hash, n_runs=n_runs, n_verdicts=n_verdicts
        )
        for fingerprint, file_hash, n_runs, n_verdicts in rows
    }


def save_locators(
    history: History,
    benchmark: str,
    harness: str,
    locators: Mapping[str, str],
    *,
    logged_at: datetime,
) -> None:
    """Remember locators by question key; those of a later log stay as they are.

    Parameters
    ----------
    history : History
        With an open transaction.
    benchmark, harness : str
    locators : mapping of str to str
    logged_at : datetime
        Aware; when the log that tells them was begun.
    """
    moment = to_utc(logged_at, "the time of the locators")
    benchmark_id = benchmark_row_id(history, benchmark)
    later = {
        key
        for (key,) in history.rows(
            "SELECT question_key FROM question_locator"
            " WHERE benchmark_id = ? AND harness = ? AND logged_at > ?",
            [benchmark_id, harness, moment],
        )
    }
    keys = [key for key in locators if key not in later]
    incoming = pa.table(
        {
            "benchmark_id": pa.array([benchmark_id] * len(keys), pa.int32()),
            "harness": pa.array([harness] * len(keys), pa.string()),
            "question_key": pa.array(keys, pa.string()),
            "locator": pa.array([locators[key] for key in keys], pa.string()),
            "logged_at": pa.array([moment] * len(keys), pa.timestamp("us", tz="UTC")),
        }
    )
    history.execute_with(
        incoming,
        "DELETE FROM question_locator WHERE benchmark_id = ? AND harness = ?"
        " AND question_key IN (SELECT question_key FROM incoming)",
        [benchmark_id, harness],
    )
    history.insert("question_locator", incoming)


def load_locators(history: History, benchmark: str, harness: str) -> dict[str, str]:
    """Locators by question key."""
    rows = history.rows(
        "SELECT question_key, locator FROM question_locator WHERE benchmark_id = ? AND harness = ?",
        [benchmark_row_id(history, benchmark), harness],
    )
    return dict(rows)


def stored_answers(history: History) -> dict[tuple[str, str], dict[str, str]]:
    """Every answer: (benchmark, harness) -> field -> answer."""
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for benchmark, harness, field, answer in history.rows(
        "SELECT b.name, v.harness, v.field, v.answer"
        " FROM verdict_rule AS v JOIN benchmark AS b USING (benchmark_id)"
        " ORDER BY b.name, v.harness, v.field"
    ):
        answers.setdefault((benchmark, harness), {})[field] = answer
    return answers


def store_answers(
    history: History,
    benchmark: str,
    harness: str,
    answers: Mapping[str, str],
    *,
    now: datetime,
) -> dict[str, tuple[str, str]]:
    """Remember answers, in place of former ones to the same fields.

    Returns
    -------
    dict of str to (str, str)
        Field -> former and new answer, where they differ.
    """
    benchmark_id = benchmark_row_id(history, benchmark)
    former = stored_answers(history).get((benchmark, harness), {})
    moment = to_utc(now, "the time of the answer")
    for field, answer in answers.items():
        if former.get(field) == answer:
            continue
        history.execute(
            "DELETE FROM verdict_rule WHERE benchmark_id = ? AND harness = ? AND field = ?",
            [benchmark_id, harness, field],
        )
        history.insert_row(
            "verdict_rule",
            benchmark_id=benchmark_id,
            harness=harness,
            field=field,
            answer=answer,
            decided_at=moment,
        )
    return {
        field: (former[field], answer)
        for field, answer in answers.items()
        if former.get(field, answer) != answer
    }
