"""The history file as its users hold it: reading, and writing in transactions."""

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final, Self, TypeVar, get_origin

import duckdb
import numpy as np
import pyarrow as pa

from storage.file.archives import verdict_source
from storage.file.commits import commit_with_sidecar
from storage.file.errors import HistoryError
from storage.file.files import quoted
from storage.file.lock import note_written, one_line_errors, one_writer, release
from storage.file.opening import close_file, create_file, open_file

WAIT_S: Final = 30.0
TIME: Final = "TIMESTAMP WITH TIME ZONE"
T = TypeVar("T")


class History:
    """An open history of verdicts.

    One process writes or many read; keep it open only while reading or writing,
    not while computing. Made by `create` or `open`; closes as a context manager.
    """

    def __init__(self, path: Path, *, read_only: bool, wait_seconds: float) -> None:
        self._connection, self.notes = open_file(
            path, read_only=read_only, wait_seconds=wait_seconds
        )
        """`notes`: what was unusual about the file when it was opened."""
        self._release = weakref.finalize(self, release, path)
        self._wait_seconds = wait_seconds
        self._in_transaction = False
        self._failed = False
        self._wrote = False
        self.path = path
        self.read_only = read_only

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
        return cls(Path(path), read_only=read_only, wait_seconds=wait_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; an unfinished transaction is dropped. Safe to repeat."""
        if self._release.alive and not self._in_transaction:
            close_file(self._connection, self.path)
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
            self._wrote = False
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
        """Rows of a query as Python values, times in `datetime.UTC`."""
        return self._fetch(sql, parameters, {})[1]

    def records(self, kind: type[T], sql: str, parameters: Sequence[object] = ()) -> list[T]:
        """Rows of a query as dataclasses, whose fields are the query's columns by name."""
        names, rows = self._fetch(sql, parameters, _readers(kind))
        return [kind(**dict(zip(names, row, strict=True))) for row in rows]

    def batches(self, sql: str, parameters: Sequence[object] = ()) -> pa.RecordBatchReader:
        """Rows of a query as a stream of Arrow batches, in constant memory."""
        with self._statement():
            return self._connection.sql(sql, params=list(parameters)).to_arrow_reader(1_000_000)

    def copy_to(self, target: Path, sql: str, options: str) -> int:
        """Write the rows of a query to a file, as DuckDB's COPY `options` say; their number."""
        return int(self.rows(f"COPY ({sql}) TO {quoted(target)} ({options})")[0][0])

    def execute(self, sql: str, parameters: Sequence[object] = ()) -> None:
        """Run a writing statement inside the caller's transaction."""
        with self._writing():
            self._connection.execute(sql, list(parameters))

    def insert(self, table: str, rows: pa.Table) -> None:
        """Append `rows` to `table`, columns matched by name, inside a transaction."""
        # DuckDB keeps what was registered until the transaction ends: a stream is empty then.
        self.execute_with(rows.to_reader(), f"INSERT INTO {table} BY NAME SELECT * FROM incoming")

    def insert_row(self, table: str, **values: object) -> None:
        """Append one row, NULL where no value is given, inside a transaction."""
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        plain = [v.item() if isinstance(v, np.generic) else v for v in values.values()]
        self.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", plain)

    def execute_with(
        self,
        incoming: pa.Table | pa.RecordBatchReader,
        sql: str,
        parameters: Sequence[object] = (),
    ) -> None:
        """Run a writing statement that may read the Arrow rows as `incoming`."""
        with self._writing():
            self._connection.register("incoming", incoming)
            self._connection.execute(sql, list(parameters))
            self._connection.unregister("incoming")

    def verdict_source(self, run_ids: Sequence[int] | None = None) -> str:
        """Source to select verdicts (of some runs) from: the table, or it with archives."""
        with self._statement():
            return verdict_source(self._connection, self.path, run_ids)

    def check(self, look: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Call a function of this package with the open file."""
        with self._statement():
            return look(self._connection)

    def next_id(self, table: str) -> int:
        """Smallest integer above every id in `table`, whose id column is ``<table>_id``."""
        return int(self.rows(f"SELECT coalesce(max({table}_id), 0) + 1 FROM {table}")[0][0])

    def free_name(self, table: str, column: str, name: str) -> str:
        """`name`, or where the column has it already, `name` and the next free number."""
        taken = self.rows(f"SELECT {column} FROM {table} WHERE starts_with({column}, ?)", [name])
        candidate, number = name, 1
        while (candidate,) in taken:
            number += 1
            candidate = f"{name}-{number}"
        return candidate

    def _fetch(
        self, sql: str, parameters: Sequence[object], readers: Mapping[str, Callable[[Any], Any]]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Names of the columns, and the rows; `readers` convert the values of columns by name."""
        with self._statement():
            result = self._connection.execute(sql, list(parameters))
            rows = result.fetchall()
            described = result.description or []
        names = [column[0] for column in described]
        changed = [
            (index, _in_utc if kind == TIME else readers[name])
            for index, (name, kind, *_) in enumerate(described)
            if kind == TIME or name in readers
        ]
        if not changed:
            return names, rows
        lists = [list(row) for row in rows]
        for index, reader in changed:
            for values in lists:
                values[index] = reader(values[index])
        return names, [tuple(values) for values in lists]

    def _commit(self) -> None:
        # After a failed statement DuckDB reports success for COMMIT and stores nothing.
        if self._failed:
            raise HistoryError(
                f"a statement failed in a transaction on {self.path}; nothing of it was stored"
            )
        with self._statement():
            if self._wrote:
                note_written(self.path)
                commit_with_sidecar(self._connection, self.path)
            else:
                self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _statement(self) -> Iterator[None]:
        try:
            with one_line_errors(self.path):
                yield
        except HistoryError:
            self._failed = True
            raise

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if not self._in_transaction:
            raise HistoryError("writing needs an open `history.transaction()`")
        self._wrote = True
        with self._statement():
            yield


def _readers(kind: type) -> dict[str, Callable[[Any], Any]]:
    """How the fields of a dataclass are made of what is stored, where that is not the same."""
    made: dict[str, Callable[[Any], Any]] = {}
    for field in fields(kind):
        if get_origin(field.type) is tuple:
            made[field.name] = tuple
        elif isinstance(field.type, type) and issubclass(field.type, Enum):
            made[field.name] = field.type
    return made


def _in_utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
