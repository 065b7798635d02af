"""Committing with a sidecar: written before COMMIT, put in place after it."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

import duckdb

from storage.commit_chain import Digest, append_commit
from storage.files import PARTIAL, sidecar_path
from storage.open_files import note_written
from storage.sidecar import Sidecar, prepare_sidecar, publish_sidecar, read_sidecar


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A sidecar that is on the disk but not in place yet."""

    partial: Path


def prepare_commit(
    connection: duckdb.DuckDBPyConnection, path: Path, digest: Digest, *, at_least: int = 1
) -> Prepared:
    """Append the open transaction to the chain and write the sidecar it will have.

    A full disk or a folder without permission is then met before COMMIT, while
    everything can still be rolled back.

    Raises
    ------
    HistoryError
        If the sidecar cannot be written.
    """
    appended, summary = append_commit(connection, digest.hexdigest(), at_least=at_least)
    former = read_sidecar(path) or Sidecar(sequence=0, chain="")
    following = former.after(appended.sequence, appended.chain, summary)
    return Prepared(partial=prepare_sidecar(path, following))


def publish_commit(path: Path, prepared: Prepared) -> None:
    """Put the sidecar in place after COMMIT.

    The commit is stored by now: should this fail, the next opening makes up for it.
    """
    with contextlib.suppress(OSError):
        publish_sidecar(path, prepared.partial)


def withdraw_commit(path: Path) -> None:
    """Remove a prepared sidecar whose transaction is rolled back."""
    partial = sidecar_path(path).with_name(sidecar_path(path).name + PARTIAL)
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)


def commit(connection: duckdb.DuckDBPyConnection, path: Path, digest: Digest) -> None:
    """End a transaction, with the sidecar that what it wrote asks for."""
    prepared: Prepared | None = None
    try:
        if not digest.is_empty:
            note_written(path)
            prepared = prepare_commit(connection, path, digest)
        connection.execute("COMMIT")
    except BaseException:
        withdraw_commit(path)
        raise
    if prepared is not None:
        publish_commit(path, prepared)
