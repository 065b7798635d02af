"""What evaluation tools call a question where that differs from its key."""

from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from storage.benchmarks import benchmark_row_id
from storage.history import History
from storage.times import to_utc


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
