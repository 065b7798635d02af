"""Write the rows of a query to a file of its own."""

from pathlib import Path

from storage.file.history import History
from storage.file.verify import quoted


def copy_out(history: History, sql: str, target: Path, options: str) -> int:
    """Write the rows of a query as DuckDB's COPY `options` say, and return their number."""
    return int(history.rows(f"COPY ({sql}) TO {quoted(target)} ({options})")[0][0])
