"""Writing runs: questions of a log looked up, and what it adds to or changes in the history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from recurring_eval.records import RunLog
from recurring_eval.validation import first_duplicate
from storage.file.history import History
from storage.runs.benchmarks import StoredBank, benchmark_row_id, stored_bank, stored_questions
from storage.runs.run_table import (
    FACTS,
    Fact,
    RunChange,
    StoredRun,
    facts_of,
    read_verdicts,
    store_changes,
    stored_runs,
)
from storage.runs.verdict_rows import WORDS, VerdictRows
from storage.values import to_utc

NOT_RUN: Final = "not run"
"""A verdict missing for this reason may be filled in by a later import."""
LISTED: Final = 5


class QuestionLookup:
    """Finds the question a log means by a key and, where known, a content hash.

    The current bank decides; a log that names the content of an older version
    means the question of that version.
    """

    def __init__(self, history: History, bank: StoredBank) -> None:
        rows = stored_questions(history, benchmark_row_id(history, bank.bank.benchmark))
        self._benchmark = bank.bank.benchmark
        self._exact = {(key, content): question_id for key, content, question_id in rows}
        self._newest = {key: question_id for key, _, question_id in rows}
        hashes = zip(bank.bank.question_ids, bank.bank.content_hashes, strict=True)
        self._content = dict(hashes)
        self._current = dict(
            zip(bank.bank.question_ids, bank.question_row_ids.tolist(), strict=True)
        )
        self._keys = {question_id: key for key, _, question_id in rows}
        self._seen: dict[tuple[tuple[str, ...], tuple[str, ...]], NDArray[np.int32]] = {}

    def key(self, question_id: int) -> str:
        """Key of one of the history's questions."""
        return self._keys[question_id]

    def row_ids(
        self, keys: tuple[str, ...], content_hashes: tuple[str, ...], *, run_key: str
    ) -> NDArray[np.int32]:
        """Integers of the questions, shape (len(keys),).

        Raises
        ------
        InputError
            For a question the benchmark does not have, or whose content changed.
        """
        # Most runs of a benchmark name the same questions in the same order.
        cached = self._seen.get((keys, content_hashes))
        if cached is not None:
            return cached
        found = [
            self._find(key, content) for key, content in zip(keys, content_hashes, strict=True)
        ]
        unknown = [key for key, row in zip(keys, found, strict=True) if row is None]
        if unknown:
            raise InputError(self._refusal(unknown, run_key))
        ids = np.array(found, dtype=np.int32)
        self._seen[keys, content_hashes] = ids
        return ids

    def _find(self, key: str, content: str) -> int | None:
        if not content:
            return self._current.get(key, self._newest.get(key))
        exact = self._exact.get((key, content))
        if exact is not None:
            return exact
        return self._current.get(key) if self._content.get(key) == "" else None

    def _refusal(self, unknown: Sequence[str], run_key: str) -> str:
        changed = [key for key in unknown if key in self._newest]
        listed = changed or unknown
        shown = ", ".join(listed[:LISTED])
        more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
        what = "questions whose content changed" if changed else "questions the bank does not have"
        return (
            f"run {run_key} has {what} of benchmark {self._benchmark!r}: {shown}{more}; "
            "correct the log or import with --extend-bank"
        )


def _changed_fact(log: RunLog, run: StoredRun) -> str:
    """Describe the first fact in which a log contradicts the stored run."""
    pairs = zip(FACTS, run.facts, facts_of(log), strict=True)
    name, old, new = next((name, old, new) for name, old, new in pairs if old != new)
    return (
        f"run {log.run_key} is stored with {name} {_spell(old)}, the log says {_spell(new)}; "
        "give the run another id, or import with --replace to take the log's"
    )


def _changed_verdict(run_key: str, question: str, trial: int, old: str, new: str) -> str:
    """Describe a stored verdict and the one a log gives in its place."""
    return (
        f"run {run_key}, question {question!r}, trial {trial}: the stored verdict is {old}, "
        f"the log says {new}; import with --replace to take the log's (the old one is kept)"
    )


def _verdict_text(rows: VerdictRows, row: int) -> str:
    """Spell one verdict, with its reason if it is missing."""
    word = WORDS[int(rows.outcome[row])]
    return f"{word} ({rows.reason[row]})" if rows.reason[row] else word


def _spell(fact: Fact) -> str:
    if isinstance(fact, datetime):
        return fact.isoformat()
    return "none" if fact is None else repr(fact)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWritten:
    """What an import did with one run.

    Attributes
    ----------
    run_key : str
    status : str
        ``imported``, ``already there``, ``extended`` or ``replaced``.
    n_new_verdicts : int
        Verdicts of questions and trials that had none before.
    n_replaced_verdicts : int
        Verdicts that changed; the old ones are kept as a revision.
    """

    run_key: str
    status: str
    n_new_verdicts: int
    n_replaced_verdicts: int = 0


def write_runs(
    history: History,
    benchmark: str,
    logs: Sequence[RunLog],
    *,
    imported_at: datetime,
    replace: bool = False,
    file_hash: str | None = None,
) -> list[RunWritten]:
    """Store runs under the current bank, inside the caller's transaction.

    A run that is stored already is left alone if nothing is new, and extended
    if the log has verdicts the history lacks (verdicts missing as ``not run``
    count as lacking). A verdict or fact of the run that differs is refused,
    unless `replace`, which takes the log's and keeps the old verdicts as a
    revision; stored verdicts the log does not mention stay.

    Parameters
    ----------
    history : History
        With an open transaction.
    benchmark : str
        Must have a bank that knows every question.
    logs : sequence of RunLog
        Distinct run keys; pass thousands at once.
    imported_at : datetime
        Aware.
    replace : bool
    file_hash : str, optional
        Hash of the file the logs come from.

    Returns
    -------
    list of RunWritten
        One per log, in order.

    Raises
    ------
    InputError
        For unknown questions, contradictions within a log or with the history.
    """
    bank = stored_bank(history, benchmark)
    if bank is None:
        raise InputError(f"benchmark {benchmark!r} has no bank yet; save one before its runs")
    duplicate = first_duplicate([log.run_key for log in logs])
    if duplicate is not None:
        raise InputError(f"run {duplicate} is in the import twice; import one file of it at a time")
    for log in logs:
        to_utc(log.started_at, f"the start of run {log.run_key}")
        to_utc(log.finished_at, f"the end of run {log.run_key}")
    lookup = QuestionLookup(history, bank)
    incoming = [
        VerdictRows.from_log(
            log, lookup.row_ids(log.question_ids, log.content_hashes, run_key=log.run_key)
        )
        for log in logs
    ]
    benchmark_id = benchmark_row_id(history, benchmark)
    known = stored_runs(history, benchmark_id, [log.run_key for log in logs])
    checksums = [rows.checksum() for rows in incoming]
    differing = [
        known[log.run_key].run_id
        for log, checksum in zip(logs, checksums, strict=True)
        if log.run_key in known and known[log.run_key].checksum != checksum
    ]
    stored = read_verdicts(history, differing)

    next_id = history.next_id("run")
    changes = []
    for log, rows, checksum in zip(logs, incoming, checksums, strict=True):
        run = known.get(log.run_key)
        if run is None:
            changes.append(_as_logged(log, next_id, rows, checksum, new=True))
            next_id += 1
        elif run.run_id not in stored and run.facts == facts_of(log):
            changes.append(_as_logged(log, run.run_id, rows, checksum, new=False))
        else:
            before = stored.get(run.run_id, rows)
            changes.append(_compare(log, run, before, rows, lookup, replace=replace))
    store_changes(
        history,
        [change for change in changes if change.is_change],
        benchmark_id=benchmark_id,
        bank_id=bank.bank_id,
        imported_at=to_utc(imported_at, "`imported_at`"),
        file_hash=file_hash,
    )
    return [_result(change) for change in changes]


def _as_logged(
    log: RunLog, run_id: int, rows: VerdictRows, checksum: str, *, new: bool
) -> RunChange:
    none = rows.take(slice(0))
    return RunChange(
        log=log,
        run_id=run_id,
        new=new,
        rows=rows,
        checksum=checksum,
        added=rows if new else none,
        replaced=none,
    )


def _compare(
    log: RunLog,
    run: StoredRun,
    before: VerdictRows,
    after: VerdictRows,
    lookup: QuestionLookup,
    *,
    replace: bool,
) -> RunChange:
    """Find what the log adds to the stored run and what it changes.

    Raises
    ------
    InputError
        If it changes anything and `replace` is false.
    """
    new_facts = facts_of(log) != run.facts
    if new_facts and not replace:
        raise InputError(_changed_fact(log, run))
    position = np.minimum(np.searchsorted(before.keys(), after.keys()), len(before) - 1)
    common = before.keys()[position] == after.keys()
    differs = common & (
        (before.outcome[position] != after.outcome) | (before.reason[position] != after.reason)
    )
    filled = differs & (before.reason[position] == NOT_RUN)
    changed = np.flatnonzero(differs & ~filled)
    if changed.size and not replace:
        row = int(changed[0])
        question = lookup.key(int(after.question_id[row]))
        old, new = _verdict_text(before, int(position[row])), _verdict_text(after, row)
        raise InputError(_changed_verdict(log.run_key, question, int(after.trial[row]), old, new))
    added = after.take(~common | differs)
    lost = np.zeros(len(before), dtype=np.bool_)
    lost[position[differs]] = True
    rows = before.take(~lost).merged(added)
    return RunChange(
        log=log,
        run_id=run.run_id,
        new=False,
        rows=rows,
        checksum=rows.checksum(),
        added=added,
        replaced=before.take(lost),
        n_changed=int(changed.size),
        new_facts=new_facts,
    )


def _result(change: RunChange) -> RunWritten:
    if change.new:
        status = "imported"
    elif change.n_changed or change.new_facts:
        status = "replaced"
    else:
        status = "extended" if change.is_change else "already there"
    return RunWritten(
        run_key=change.log.run_key,
        status=status,
        n_new_verdicts=len(change.added) - change.n_changed,
        n_replaced_verdicts=change.n_changed,
    )
