"""What became of the files of an import."""

from dataclasses import dataclass
from typing import Final

REFUSED: Final = "refused"
SKIPPED: Final = "skipped"
KNOWN: Final = "already there"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What became of one file.

    Attributes
    ----------
    path : str
    status : str
        ``imported``, ``replaced``, ``extended``, ``already there``, ``refused`` or ``skipped``.
    runs, verdicts : int
        What the file holds; 0 if refused or skipped.
    reason : str or None
        Why it was refused or skipped.
    notes : tuple of str
    """

    path: str
    status: str
    runs: int = 0
    verdicts: int = 0
    reason: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did: one report per file, and what the history gained."""

    files: tuple[FileReport, ...]
    runs_added: int
    verdicts_added: int
    dry_run: bool

    @property
    def n_refused(self) -> int:
        """Number of refused files."""
        return sum(file.status == REFUSED for file in self.files)

    def text(self) -> list[str]:
        """Lines for people; the refusals themselves are reported as errors."""
        statuses = [file.status for file in self.files]
        n_read = len(statuses) - statuses.count(REFUSED) - statuses.count(SKIPPED)
        lines = [
            f"{'Would add' if self.dry_run else 'Added'} {_count(self.runs_added, 'run')} and "
            f"{_count(self.verdicts_added, 'verdict')} from {_count(n_read, 'file')}."
        ]
        for status, what in (
            (KNOWN, "held nothing new"),
            (SKIPPED, "in the folders skipped: no CSV, JSON lines or Parquet"),
            (REFUSED, "refused; nothing of it is stored"),
        ):
            if status in statuses:
                lines.append(f"{_count(statuses.count(status), 'file')} {what}.")
        return lines


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
