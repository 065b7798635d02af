"""Answers to what the logs of a tool leave open, by benchmark."""

from collections.abc import Mapping
from datetime import datetime

from storage.benchmarks import benchmark_row_id
from storage.history import History
from storage.times import to_utc


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
