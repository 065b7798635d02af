"""Exporting the history: one file per table, Parquet or CSV."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.file.commits import table_names
from storage.file.errors import HistoryError
from storage.file.files import partial_of, publish
from storage.file.history import History
from storage.runs.verdict_rows import verdict_word

OPTIONS: Final = {
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "csv": "FORMAT csv, HEADER true",
}
INTERNAL: Final = frozenset(
    ("schema_migration", "commit_log", "heartbeat", "archive", "archived_run")
)
VERDICTS: Final = f"""
SELECT b.name AS benchmark, r.run_key AS run_id, q.question_key AS question_id, v.trial,
       {verdict_word("v")} AS verdict, v.reason, v.duration_s, v.cost
FROM {{source}} AS v JOIN run AS r USING (run_id) JOIN benchmark AS b USING (benchmark_id)
JOIN question AS q USING (question_id) ORDER BY v.run_id, v.question_id, v.trial
"""
REVISIONS: Final = f"""
SELECT b.name AS benchmark, r.run_key AS run_id, q.question_key AS question_id, v.trial,
       {verdict_word("v")} AS verdict, v.reason, v.revision, v.replaced_at
FROM verdict_revision AS v JOIN run AS r USING (run_id) JOIN benchmark AS b USING (benchmark_id)
JOIN question AS q USING (question_id) ORDER BY v.run_id, v.revision, v.question_id, v.trial
"""
RUNS: Final = """
SELECT b.name AS benchmark, r.run_key AS run_id, k.version AS bank_version,
       r.* EXCLUDE (run_id, benchmark_id, run_key, bank_id)
FROM run AS r JOIN benchmark AS b USING (benchmark_id) JOIN bank AS k USING (bank_id)
ORDER BY r.started_at, r.run_key
"""
FORMULA: Final = "^[=+\\-@\\t\\r]"
"""Text that a spreadsheet would run as a formula."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTable:
    """One file of an export."""

    table: str
    path: Path
    n_rows: int


def export_tables(
    history: History,
    folder: Path,
    *,
    format: str = "parquet",  # noqa: A002  # the word users know
    progress: Callable[[str], None] = lambda _: None,
) -> list[ExportedTable]:
    """Write one file per table into a folder; files of a previous export are replaced.

    The tables ``verdicts``, ``verdict_revisions`` and ``runs`` name benchmarks, runs and
    questions as users do; the others are as stored. In CSV, text that begins like a
    formula gets an apostrophe in front.

    Raises
    ------
    HistoryError
        If a file cannot be written; it is left as it was.
    """
    queries = {
        "verdicts": VERDICTS.format(source=history.verdict_source()),
        "verdict_revisions": REVISIONS,
        "runs": RUNS,
    }
    for name in history.check(table_names):
        if name not in INTERNAL | {"verdict", "verdict_revision", "run"}:
            queries[name] = f'SELECT * FROM "{name}"'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        exported = []
        for name, query in queries.items():
            progress(name)
            target = folder / f"{name}.{format}"
            if format == "csv":
                query = _neutralised(history, query)
            with partial_of(target) as partial:
                n_rows = history.copy_to(partial, query, OPTIONS[format])
                publish(partial, target)
            exported.append(ExportedTable(table=name, path=target, n_rows=n_rows))
    except OSError as error:
        raise HistoryError(f"{folder} cannot be written: {error.strerror}") from error
    return exported


def _neutralised(history: History, query: str) -> str:
    columns = history.rows(f"SELECT column_name, column_type FROM (DESCRIBE {query})")
    chosen = []
    for name, kind in columns:
        text = f'"{name}"'
        if kind == "VARCHAR[]":
            text, kind = f"array_to_string({text}, ';')", "VARCHAR"
        if kind == "VARCHAR":
            marked = f"regexp_matches({text}, '{FORMULA}')"
            text = f"CASE WHEN {marked} THEN '''' || {text} ELSE {text} END"
        chosen.append(f'{text} AS "{name}"')
    return f"SELECT {', '.join(chosen)} FROM ({query})"
