"""From the keys that records carry to the history's integers, and checks of them."""

from collections.abc import Iterable, Sequence

from recurring_eval.errors import InputError
from storage.file.history import History
from storage.runs.benchmarks import stored_bank


def run_row_ids(history: History, benchmark_id: int, run_keys: Iterable[str]) -> dict[str, int]:
    """Integer of each run of the benchmark, by key.

    Raises
    ------
    InputError
        If the history lacks one of the runs.
    """
    wanted = list(dict.fromkeys(run_keys))
    rows = history.rows(
        "SELECT run_key, run_id FROM run"
        " WHERE benchmark_id = ? AND run_key IN (SELECT unnest(?::VARCHAR[]))",
        [benchmark_id, wanted],
    )
    found = dict(rows)
    _refuse_unknown([key for key in wanted if key not in found], "runs")
    return found


def bank_question_ids(
    history: History, benchmark: str, version: str, question_ids: Sequence[str]
) -> tuple[int, list[int]]:
    """Integers of a bank version and of questions of it, in order.

    Raises
    ------
    InputError
        If the benchmark lacks the version, or the version one of the questions.
    """
    stored = stored_bank(history, benchmark, version=version)
    if stored is None:
        raise InputError(f"benchmark {benchmark!r} has no bank version {version[:12]}")
    ids = dict(zip(stored.bank.question_ids, stored.question_row_ids.tolist(), strict=True))
    _refuse_unknown([key for key in question_ids if key not in ids], "questions")
    return stored.bank_id, [ids[key] for key in question_ids]


def free_id(history: History, table: str, column: str, name: str) -> str:
    """`name`, or if the column has it already, `name` with the next free number behind it."""
    taken = {
        known
        for (known,) in history.rows(
            f"SELECT {column} FROM {table} WHERE starts_with({column}, ?)", [name]
        )
    }
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _refuse_unknown(unknown: Sequence[str], what: str) -> None:
    if unknown:
        shown = ", ".join(unknown[:5])
        raise InputError(f"the history does not have the {what} {shown}; import them first")
