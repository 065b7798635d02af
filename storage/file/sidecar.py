"""The sidecar of a history: which commits it must hold, kept outside of it.

DuckDB opens a file whose write-ahead log was cut or deleted without a word, with
the commits in it gone. The sidecar is written, safe on the disk, with every commit,
so that a history which is behind it is noticed.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from storage.file.errors import HistoryError
from storage.file.files import crc32, sidecar_path, write_durably

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
        """Read an open file that nobody writes to."""
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

    def lost_after(self, sequence: int) -> str:
        """Summarise what the commits after number `sequence` changed, e.g. `` (lost: run +2)``."""
        lost = [summary for number, summary in self.recent if number > sequence]
        if not lost:
            return ""
        more = f"; and {len(lost) - 3} more" if len(lost) > 3 else ""
        return f" (lost: {'; '.join(lost[:3])}{more})"


def read_sidecar(path: Path) -> Sidecar | None:
    """Read the sidecar of the history at `path`; None if there is none or it is damaged."""
    try:
        document = json.loads(sidecar_path(path).read_text(encoding="utf-8"))
        if document["format"] != FORMAT:
            return None
        file = document["file"]
        return Sidecar(
            sequence=int(document["sequence"]),
            chain=str(document["chain"]),
            recent=tuple((int(number), str(what)) for number, what in document["recent"]),
            file=None if file is None else FileBytes(**file),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HistoryError(f"{sidecar_path(path)} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError):
        return None


def prepare_sidecar(path: Path, sidecar: Sidecar) -> Path:
    """Write the next sidecar beside the present one, to be published in its place."""
    content = {"format": FORMAT, **asdict(sidecar)}
    return write_durably(sidecar_path(path), json.dumps(content, indent=1).encode() + b"\n")
