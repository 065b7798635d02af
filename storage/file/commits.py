"""Committing with a sidecar: written before COMMIT, put in place after it."""

import contextlib
from pathlib import Path

import duckdb

from storage.file.commit_chain import Digest, append_commit
from storage.file.files import PARTIAL, sidecar_path
from storage.file.sidecar import Sidecar, prepare_sidecar, publish_sidecar, read_sidecar


def commit(
    connection: duckdb.DuckDBPyConnection, path: Path, digest: Digest, *, at_least: int = 1
) -> None:
    """Append the open transaction to the chain, commit it and let the sidecar know.

    The sidecar is on the disk, under another name, before COMMIT: a full disk or a
    folder without permission is met while everything can still be rolled back.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    path : Path
        Of the history.
    digest : Digest
        Of what the transaction wrote.
    at_least : int
        Smallest number of the commit, where earlier numbers were lost.

    Raises
    ------
    HistoryError
        If the sidecar cannot be written.
    """
    try:
        partial = _prepare(connection, path, digest, at_least)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(OSError):
            sidecar = sidecar_path(path)
            sidecar.with_name(sidecar.name + PARTIAL).unlink(missing_ok=True)
        raise
    # The commit is stored by now: should this fail, the next opening makes up for it.
    with contextlib.suppress(OSError):
        publish_sidecar(path, partial)


def _prepare(
    connection: duckdb.DuckDBPyConnection, path: Path, digest: Digest, at_least: int
) -> Path:
    appended, summary = append_commit(connection, digest.hexdigest(), at_least=at_least)
    former = read_sidecar(path) or Sidecar(sequence=0, chain="")
    return prepare_sidecar(path, former.after(appended.sequence, appended.chain, summary))
