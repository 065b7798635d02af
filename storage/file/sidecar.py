"""The sidecar of a history: which commits it must hold, kept outside of it.

DuckDB opens a file whose write-ahead log was cut or deleted without a word, with
the commits in it gone. The sidecar is written, safe on the disk, with every commit,
so that a history which is behind it is noticed.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from storage.file.errors import HistoryError
from storage.file.files import crc32, publish, sidecar_path, write_durably

FORMAT: Final = 1
RECENT: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBytes:
    """The main file as it was left: size, time of change (ns) and CRC-32."""

    size: int
    mtime_ns: int
    crc32: int

    @classmethod
    def of(cls, descriptor: int) -> "FileBytes":
        """Look at an open file that nobody writes to."""
        status = os.fstat(descriptor)
        return cls(size=status.st_size, mtime_ns=status.st_mtime_ns, crc32=crc32(descriptor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What the history must hold.

    Attributes
    ----------
    sequence : int
        Number of the last commit.
    chain : str
        Its chain value; see `storage.file.commits`.
    recent : tuple of (int, str)
        Number and summary of the last commits, the newest last.
    file : FileBytes or None
        The main file when it was last closed; None while it is written to.
    """

    sequence: int
    chain: str
    recent: tuple[tuple[int, str], ...] = ()
    file: FileBytes | None = None

    def after(self, sequence: int, chain: str, summary: str) -> "Sidecar":
        """Sidecar that knows one commit more."""
        recent = (*self.recent, (sequence, summary))[-RECENT:]
        return Sidecar(sequence=sequence, chain=chain, recent=recent)

    def closed(self, descriptor: int) -> "Sidecar":
        """Sidecar that knows how the main file, open under `descriptor`, was left."""
        return replace(self, file=FileBytes.of(descriptor))


def read_sidecar(path: Path) -> Sidecar | None:
    """Read the sidecar of the history at `path`; None if there is none or it is damaged."""
    try:
        document = json.loads(sidecar_path(path).read_text(encoding="utf-8"))
        return _sidecar(document)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HistoryError(f"{sidecar_path(path)} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        return None


def prepare_sidecar(path: Path, sidecar: Sidecar) -> Path:
    """Write the next sidecar beside the present one; `publish_sidecar` puts it in place."""
    content = {
        "format": FORMAT,
        "sequence": sidecar.sequence,
        "chain": sidecar.chain,
        "recent": [list(entry) for entry in sidecar.recent],
        "file": None
        if sidecar.file is None
        else {
            "size": sidecar.file.size,
            "mtime_ns": sidecar.file.mtime_ns,
            "crc32": sidecar.file.crc32,
        },
    }
    return write_durably(sidecar_path(path), json.dumps(content, indent=1).encode() + b"\n")


def publish_sidecar(path: Path, partial: Path) -> None:
    """Put a prepared sidecar in place, atomically and durably."""
    publish(partial, sidecar_path(path))


def write_sidecar(path: Path, sidecar: Sidecar) -> None:
    """Replace the sidecar of the history at `path`."""
    publish_sidecar(path, prepare_sidecar(path, sidecar))


def _sidecar(document: dict[str, Any]) -> Sidecar:
    if document["format"] != FORMAT:
        raise ValueError(document["format"])
    file = document["file"]
    return Sidecar(
        sequence=int(document["sequence"]),
        chain=str(document["chain"]),
        recent=tuple((int(number), str(what)) for number, what in document["recent"]),
        file=None if file is None else FileBytes(**file),
    )
