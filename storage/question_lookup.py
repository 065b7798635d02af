"""From question keys in a log to the history's questions."""

from collections.abc import Sequence
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError
from storage.benchmarks import StoredBank, benchmark_row_id
from storage.history import History

LISTED: Final = 5


class QuestionLookup:
    """Finds the question a log means by a key and, where known, a content hash.

    The current bank decides; a log that names the content of an older version
    means the question of that version.
    """

    def __init__(self, bank: StoredBank, rows: Sequence[tuple[str, str, int]]) -> None:
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

    @classmethod
    def load(cls, history: History, bank: StoredBank) -> Self:
        """Read every question of the bank's benchmark."""
        benchmark_id = benchmark_row_id(history, bank.bank.benchmark)
        rows = history.rows(
            "SELECT question_key, content_hash, question_id FROM question"
            " WHERE benchmark_id = ? ORDER BY question_id",
            [benchmark_id],
        )
        return cls(bank, [(key, content, int(question_id)) for key, content, question_id in rows])

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
