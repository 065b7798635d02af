"""The history file: opening, locking and transactions."""

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from storage.file.commits import Digest, commit
from storage.file.errors import HistoryError
from storage.file.lock import note_written, one_line_errors, one_writer, release
from storage.file.opening import Opened, create_file, open_counted, seal
from storage.file.verify import verdict_source

WAIT_S: Final = 30.0
T = TypeVar("T")


class History:
    """An open history of verdicts.

    One process writes or many read; keep it open only while reading or writing,
    not while computing. Made by `create` or `open`; closes as a context manager.
    """

    def __init__(self, opened: Opened, path: Path, *, read_only: bool, wait_seconds: float) -> None:
        self._connection = opened.connection
        self._wait_seconds = wait_seconds
        self._in_transaction = False
        self._failed = False
        self._digest = Digest()
        self._release = weakref.finalize(self, release, path)
        self.path = path
        self.read_only = read_only
        self.notes = opened.notes
        """What was unusual about the file when it was opened."""

    @classmethod
    def create(cls, path: Path | str, *, now: datetime | None = None) -> Self:
        """Make an empty history.

        Parameters
        ----------
        path : Path or str
            The folder must exist, the file must not.
        now : datetime, optional
            Aware; noted in the ledger of migrations.

        Raises
        ------
        HistoryError
            If there is a file already or it cannot be written.
        """
        create_file(Path(path), now=now)
        return cls.open(path)

    @classmethod
    def open(
        cls, path: Path | str, *, read_only: bool = False, wait_seconds: float = WAIT_S
    ) -> Self:
        """Open an existing history.

        Parameters
        ----------
        path : Path or str
        read_only : bool
            Many processes may read at once while none writes.
        wait_seconds : float
            How long to wait for another process to let go of the file.

        Raises
        ------
        HistoryNotFoundError
            If there is no file.
        HistoryLockedError
            If another process still holds the file after `wait_seconds`.
        SchemaError
            If the file is no history, or of another schema version.
        HistoryDamagedError
            If something stored is gone or damaged, saying what and what to do.
        HistoryError
            If the file cannot be used, or is open in this process in the other mode.
        """
        path = Path(path)
        opened = open_counted(path, read_only=read_only, wait_seconds=wait_seconds)
        return cls(opened, path, read_only=read_only, wait_seconds=wait_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; an unfinished transaction is dropped. Safe to repeat."""
        if self._release.alive and not self._in_transaction:
            seal(self._connection, self.path)
        self._connection.close()
        self._release()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Store everything written inside, or nothing if any exception is raised.

        Raises
        ------
        HistoryLockedError
            If another handle of this process keeps a transaction open for
            longer than this one was told to wait.
        HistoryError
            If the history is read-only, a transaction is open already, a
            statement failed, or the commit fails.
        """
        if self.read_only:
            raise HistoryError(f"the history {self.path} was opened read-only; nothing is written")
        if self._in_transaction:
            raise HistoryError("a transaction is open already; write inside that one")
        with one_writer(self.path, wait_seconds=self._wait_seconds):
            self._failed = False
            self._in_transaction = True
            self._digest = Digest()
            try:
                with self._statement():
                    self._connection.execute("BEGIN")
                yield
                self._commit()
            except BaseException:
                # The first error is the one to report, even when the rollback fails as well.
                with contextlib.suppress(duckdb.Error):
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._in_transaction = False

    def checkpoint(self) -> None:
        """Move what was committed from the write-ahead log into the file."""
        with self._statement():
            self._connection.execute("CHECKPOINT")

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query, as Python values."""
        with self._statement():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def batches(self, sql: str, parameters: Sequence[object] = ()) -> pa.RecordBatchReader:
        """Rows of a query as a stream of Arrow batches, in constant memory."""
        with self._statement():
            return self._connection.sql(sql, params=list(parameters)).to_arrow_reader(1_000_000)

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a writing statement inside the caller's transaction."""
        self._require_transaction()
        self._digest.add(sql, parameters)
        with self._statement():
            self._connection.execute(sql, list(parameters))

    def insert(self, table: str, rows: pa.Table) -> None:
        """Append `rows` to `table`, columns matched by name, inside a transaction."""
        sql = f"INSERT INTO {table} BY NAME SELECT * FROM incoming"
        self._require_transaction()
        self._digest.add(sql, (), rows)
        # DuckDB keeps what was registered until the transaction ends: a stream is empty then.
        self._run_with(rows.to_reader(), sql, ())

    def insert_row(self, table: str, **values: object) -> None:
        """Append one row, NULL where no value is given, inside a transaction."""
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        plain = [v.item() if isinstance(v, np.generic) else v for v in values.values()]
        self.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", plain)

    def execute_with(self, incoming: pa.Table, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a writing statement that may read the Arrow table as `incoming`."""
        self._require_transaction()
        self._digest.add(sql, parameters, incoming)
        self._run_with(incoming, sql, parameters)

    def verdict_source(self, run_ids: Sequence[int] | None = None) -> str:
        """Tell what to select verdicts (of some runs) from: the table, or it with archives."""
        with self._statement():
            return verdict_source(self._connection, self.path, run_ids)

    def check(self, look: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Let a function of this package look at the open file."""
        with self._statement():
            return look(self._connection)

    def next_id(self, table: str) -> int:
        """Smallest integer above every id in `table`, whose id column is ``<table>_id``."""
        return int(self.rows(f"SELECT coalesce(max({table}_id), 0) + 1 FROM {table}")[0][0])

    def _run_with(
        self, incoming: pa.Table | pa.RecordBatchReader, sql: str, parameters: Sequence[object]
    ) -> None:
        with self._statement():
            self._connection.register("incoming", incoming)
            self._connection.execute(sql, list(parameters))
            self._connection.unregister("incoming")

    def _commit(self) -> None:
        # After a failed statement DuckDB reports success for COMMIT and stores nothing.
        if self._failed:
            raise HistoryError(
                f"a statement failed in a transaction on {self.path}; nothing of it was stored"
            )
        with self._statement():
            if self._digest.is_empty:
                self._connection.execute("COMMIT")
            else:
                note_written(self.path)
                commit(self._connection, self.path, self._digest)

    @contextlib.contextmanager
    def _statement(self) -> Iterator[None]:
        try:
            with one_line_errors(self.path):
                yield
        except HistoryError:
            self._failed = True
            raise

    def _require_transaction(self) -> None:
        if not self._in_transaction:
            raise HistoryError("writing needs an open `history.transaction()`")
