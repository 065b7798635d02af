"""What an import left in the history, read back."""

from pathlib import Path

from jobs.harnesses.log_values import question_key
from storage.file.history import History

Cell = tuple[str, int]


def stored_verdicts(folder: Path) -> dict[str, dict[Cell, str]]:
    """Run key -> (question, trial) -> pass, fail or missing."""
    found: dict[str, dict[Cell, str]] = {}
    with History.open(folder / "history.duckdb", read_only=True) as history:
        for run, question, trial, passed in history.rows(
            "SELECT r.run_key, q.question_key, v.trial, v.passed FROM verdict AS v"
            " JOIN run AS r USING (run_id) JOIN question AS q USING (question_id)"
        ):
            word = {None: "missing", 1: "pass", 0: "fail"}[passed]
            found.setdefault(run, {})[question, trial] = word
    return found


def stored_reasons(folder: Path) -> dict[Cell, str]:
    """(question, trial) -> reason of the missing verdicts of all runs."""
    with History.open(folder / "history.duckdb", read_only=True) as history:
        rows = history.rows(
            "SELECT q.question_key, v.trial, v.reason FROM verdict AS v"
            " JOIN question AS q USING (question_id) WHERE v.passed IS NULL"
        )
    return {(question, trial): reason for question, trial, reason in rows}


def stored_runs(folder: Path) -> dict[str, dict[str, object]]:
    """Run key -> facts."""
    names = "run_key, agent, agent_config, tags, kind, subset_id, started_at, finished_at"
    with History.open(folder / "history.duckdb", read_only=True) as history:
        rows = history.rows(f"SELECT {names} FROM run")
    return {row[0]: dict(zip(names.split(", "), row, strict=True)) for row in rows}


def bank(folder: Path, benchmark: str) -> set[str]:
    """Questions of a benchmark."""
    with History.open(folder / "history.duckdb", read_only=True) as history:
        rows = history.rows(
            "SELECT question_key FROM question JOIN benchmark USING (benchmark_id) WHERE name = ?",
            [benchmark],
        )
    return {key for (key,) in rows}


def cells(samples: list[dict[str, object]], verdict: str = "verdict") -> dict[Cell, str]:
    """Planned verdicts of Inspect samples by (key, epoch)."""
    return {(question_key(s["id"]), int(str(s["epoch"]))): str(s[verdict]) for s in samples}
