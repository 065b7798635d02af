"""Starts of runs whose logs come in parts."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from recurring_eval.records import RunLog
from storage.history import History
from storage.runs import list_runs

_SAME_RUN: Final = timedelta(hours=12)


def with_stored_starts(history: History, benchmark: str, logs: list[RunLog]) -> list[RunLog]:
    """Give a log the start the history knows, where it is another part of the same run.

    A run's start is its earliest verdict, which only one of its parts holds.
    """
    near = list_runs(
        history,
        benchmark,
        since=min(log.started_at for log in logs) - _SAME_RUN,
        before=max(log.started_at for log in logs) + _SAME_RUN,
    )
    starts = {run.run_key: run.started_at for run in near}
    return [
        replace(log, started_at=starts[log.run_key])
        if log.run_key in starts and abs(log.started_at - starts[log.run_key]) < _SAME_RUN
        else log
        for log in logs
    ]
