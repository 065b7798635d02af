"""What became of the files of an import."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

PARTIAL: Final = "partial"
PART: Final = "part"
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
        ``imported``, ``partial`` (imported, but the log does not hold all that was asked),
        ``replaced``, ``extended``, ``already there``, ``part`` (of a log reported under another
        path), ``refused`` or ``skipped``.
    runs, verdicts : int
        What the log holds; 0 if refused, skipped or a part.
    reason : str or None
        Why it was refused or skipped or is partial.
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
        n_read = sum(status not in (REFUSED, SKIPPED, PART) for status in statuses)
        lines = [
            f"{'Would add' if self.dry_run else 'Added'} {_count(self.runs_added, 'run')} and "
            f"{_count(self.verdicts_added, 'verdict')} from {_count(n_read, 'file')}."
        ]
        for status, what in (
            (PARTIAL, "held a part of what was asked"),
            (KNOWN, "held nothing new"),
            (SKIPPED, "in the folders skipped: no logs"),
            (REFUSED, "refused; nothing of it is stored"),
        ):
            if status in statuses:
                lines.append(f"{_count(statuses.count(status), 'file')} {what}.")
        return lines


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def refused_report(path: Path, reason: str, *, skipped: bool = False) -> FileReport:
    """Report a log of which nothing is stored."""
    return FileReport(path=str(path), status=SKIPPED if skipped else REFUSED, reason=reason)


def part_report(path: Path, whole: Path) -> FileReport:
    """Report a file that was read as part of a log."""
    return FileReport(path=str(path), status=PART, reason=f"read with {whole}")
