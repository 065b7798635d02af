"""What must be known of a whole file to read a part of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.harnesses.table.columns import Column
from jobs.harnesses.table.identifiers import TrialColumn
from jobs.harnesses.table.verdict_words import says_yes


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What holds for a file as a whole, where only a part of its rows is at hand."""

    trials: TrialColumn
    says_yes: bool

    @classmethod
    def of(cls, columns: Mapping[str, Column]) -> "FileFacts":
        """Look at all rows, or at a part of them."""
        return cls(
            trials=TrialColumn.of(columns.get("trial")), says_yes=says_yes(columns["verdict"])
        )

    def __or__(self, other: "FileFacts") -> "FileFacts":
        return FileFacts(
            trials=self.trials | other.trials, says_yes=self.says_yes or other.says_yes
        )
