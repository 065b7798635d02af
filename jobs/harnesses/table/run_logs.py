"""From interpreted columns to one log per run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.harness import ReadOptions
from jobs.harnesses.table.columns import Column, RawTable
from jobs.harnesses.table.identifiers import FileFacts, SharedNames, read_keys, read_trials
from jobs.harnesses.table.run_facts import (
    NO_TIME,
    UNKNOWN_AGENT,
    RunFacts,
    amounts,
    read_times,
)
from jobs.harnesses.table.verdict_words import read_verdicts
from recurring_eval.errors import InputError
from recurring_eval.records import FAIL, MISSING, PASS, RunLog

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def build_run_logs(
    table: RawTable,
    columns: Mapping[str, Column],
    options: ReadOptions,
    *,
    harness: str,
    facts: FileFacts | None = None,
) -> tuple[tuple[RunLog, ...], list[str]]:
    """Interpret the columns and split the rows into runs.

    Parameters
    ----------
    table : RawTable
        With all rows of every run in it.
    columns : mapping
        Meaning -> column.
    options : ReadOptions
    harness : str
    facts : FileFacts, optional
        Of the file that `table` is a part of, if it is not the whole.

    Returns
    -------
    runs : tuple of RunLog
        In the order in which they first occur.
    notes : list of str

    Raises
    ------
    InputError
        For an unreadable cell, contradicting rows, a run without time or valid verdict.
    """
    run, names, benchmarks = runs_of_rows(table, columns)
    run_facts = RunFacts(table, columns)
    named = {name for name in benchmarks if name is not None}
    rule = options.rule(harness, min(named) if len(named) == 1 else None)
    whole, times, notes = _read_rows(
        table,
        columns,
        run,
        options,
        facts or FileFacts.of(columns),
        harness=harness,
        threshold=rule.threshold,
    )
    kept, dropped = _drop_repeated_rows(
        table, whole, run=run, run_names=names, has_trials="trial" in columns
    )
    notes += dropped
    if options.agent is None and not run_facts.names_agents():
        notes.append(f"no column names the agent; it is {UNKNOWN_AGENT!r} (--agent names it)")
    starts = np.flatnonzero(np.diff(run[kept], prepend=-1))
    question_names = SharedNames(whole.question_ids)
    logs = []
    for chosen in np.split(kept, starts[1:]):
        code = run[chosen[0]]
        log = _with_own_names(whole.take(chosen), question_names)
        if (log.outcome == MISSING).all() and not options.without_verdicts:
            told = ", ".join(log.reasons[:3])
            raise InputError(
                f"run {names[code]!r} has no valid verdict (missing: {told}); remove it"
            )
        log = _with_times(
            log, names[code], benchmarks[code], times[:, chosen], column=columns["time"].name
        )
        logs.append(run_facts.described(log, chosen, agent=options.agent))
    return tuple(logs), notes


def runs_of_rows(
    table: RawTable, columns: Mapping[str, Column]
) -> tuple[NDArray[np.int32], Sequence[str], Sequence[str | None]]:
    """Run of each row; the same id in two benchmarks is two runs."""
    runs = read_keys(table, columns["run"], "run")
    if "benchmark" not in columns:
        return runs.codes, runs.names, [None] * len(runs.names)
    benchmarks = read_keys(table, columns["benchmark"], "benchmark")
    n = len(benchmarks.names)
    pairs, run = np.unique(runs.codes.astype(np.int64) * n + benchmarks.codes, return_inverse=True)
    names = [runs.names[pair // n] for pair in pairs]
    return run.astype(np.int32), names, [benchmarks.names[pair % n] for pair in pairs]


def _read_rows(
    table: RawTable,
    columns: Mapping[str, Column],
    run: NDArray[np.int32],
    options: ReadOptions,
    facts: FileFacts,
    *,
    harness: str,
    threshold: float | None,
) -> tuple[RunLog, NDArray[np.int64], list[str]]:
    """Rows of the whole table as if they were of one run, and their starts and ends."""
    questions = read_keys(table, columns["question"], "question")
    cell = run.astype(np.int64) * len(questions.names) + questions.codes
    trial, notes = read_trials(table, columns.get("trial"), cell, facts=facts)
    verdicts = read_verdicts(
        table,
        columns["verdict"],
        error=columns.get("error"),
        status=columns.get("status"),
        threshold=threshold,
        n_is_no=facts.says_yes,
    )
    started, time_notes = read_times(table, columns["time"], options.timezone)
    finished = np.full(table.n_rows, NO_TIME)
    if "finished" in columns:
        finished, _ = read_times(table, columns["finished"], options.timezone)
    whole = RunLog(
        run_key="",
        benchmark=None,
        agent=UNKNOWN_AGENT,
        started_at=_EPOCH,
        harness=harness,
        question_ids=tuple(questions.names),
        content_hashes=("",) * len(questions.names),
        question_index=questions.codes,
        trial=trial,
        outcome=verdicts.outcome,
        reasons=verdicts.reasons,
        reason_index=verdicts.reason,
        duration_s=amounts(columns.get("duration"), table.n_rows),
        cost=amounts(columns.get("cost"), table.n_rows),
    )
    return whole, np.stack([started, finished]), [*notes, *verdicts.notes, *time_notes]


def _with_times(
    log: RunLog, run_key: str, benchmark: str | None, times: NDArray[np.int64], *, column: str
) -> RunLog:
    """Log of a run with the earliest start and the latest end of its rows, shape (2, n_rows)."""
    started, finished = times
    if (started == NO_TIME).all():
        raise InputError(f"run {run_key!r} has no time in column `{column}`")
    return replace(
        log,
        run_key=run_key,
        benchmark=benchmark,
        started_at=_moment(started[started != NO_TIME].min()),
        finished_at=None if (finished == NO_TIME).all() else _moment(finished.max()),
    )


def _with_own_names(log: RunLog, names: SharedNames) -> RunLog:
    """Log with the questions and reasons of its own rows alone, which are ordered by question."""
    is_first = np.diff(log.question_index, prepend=-1) != 0
    question_ids, content_hashes = names.of(log.question_index[is_first])
    codes = np.unique(log.reason_index[log.reason_index >= 0])
    position = np.where(log.reason_index < 0, -1, np.searchsorted(codes, log.reason_index))
    return replace(
        log,
        question_ids=question_ids,
        content_hashes=content_hashes,
        question_index=(np.cumsum(is_first) - 1).astype(np.int32),
        reasons=tuple(log.reasons[code] for code in codes),
        reason_index=position.astype(np.int16),
    )


def _moment(microseconds: np.int64) -> datetime:
    return _EPOCH + timedelta(microseconds=int(microseconds))


def _drop_repeated_rows(
    table: RawTable,
    whole: RunLog,
    *,
    run: NDArray[np.int32],
    run_names: Sequence[str],
    has_trials: bool,
) -> tuple[NDArray[np.intp], list[str]]:
    """Order the rows by run, question and trial, without repetitions.

    Of rows that repeat each other the first is kept, a valid verdict before a missing one.

    Returns
    -------
    rows : ndarray of intp
    notes : list of str
        What was dropped.

    Raises
    ------
    InputError
        Naming run, question, trial and both places when a trial both passed and failed.
    """
    question, trial, outcome = whole.question_index, whole.trial, whole.outcome
    order = np.lexsort((outcome == MISSING, trial, question, run))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = False
    for values in (run, question, trial):
        ordered = values[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    if first.all():
        return order, []
    group = np.cumsum(first) - 1
    ordered_outcome = outcome[order]
    passes = np.bincount(group, weights=ordered_outcome == PASS) > 0
    fails = np.bincount(group, weights=ordered_outcome == FAIL) > 0
    if (passes & fails).any():
        members = order[group == np.flatnonzero(passes & fails)[0]]
        row = members[0]
        places = {word: members[outcome[members] == word].min() for word in (PASS, FAIL)}
        advice = "" if has_trials else ", or number them in a column `trial`"
        raise InputError(
            f"run {run_names[run[row]]!r}, question {whole.question_ids[question[row]]!r}, "
            f"trial {trial[row]} passed in {table.place(int(places[PASS]))} and failed in "
            f"{table.place(int(places[FAIL]))}; keep one of the two{advice}"
        )
    kept = order[first]
    retried = int(((ordered_outcome == MISSING) & ~first & (passes | fails)[group]).sum())
    repeated = len(order) - len(kept) - retried
    notes = []
    if repeated:
        notes.append(f"rows dropped because they repeat another: {repeated}")
    if retried:
        notes.append(f"missing verdicts dropped because the same trial has a valid one: {retried}")
    return kept, notes
