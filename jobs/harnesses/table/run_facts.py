"""What a table says about each run as a whole."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jobs.harnesses.table.column import Column, RawTable
from recurring_eval.errors import InputError
from recurring_eval.records import RunPurpose

UNKNOWN_AGENT: Final = "unknown"
_CONFIG: Final = ("agent_version", "model", "commit")
_SINGLE: Final = ("agent", "purpose", "agent_family", "subset")
_SEPARATOR: Final = re.compile(r"[,;\x1f]")
_MOST_PARTS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts of one run; None where the table is silent."""

    agent: str
    agent_config: str
    agent_family: str | None
    purpose: RunPurpose | None
    subset_id: str | None
    session_id: str | None
    tags: tuple[str, ...]


class RunFacts:
    """The columns that describe runs, read once per distinct value."""

    def __init__(self, table: RawTable, columns: Mapping[str, Column]) -> None:
        meanings = (*_SINGLE, *_CONFIG, "config_hash", "session", "tags")
        self._table = table
        self._columns = {m: columns[m] for m in meanings if m in columns}
        self._texts = {m: [_text(v) for v in c.scalars()] for m, c in self._columns.items()}
        self._tags = [_tags(text) for text in self._texts.get("tags", [])]

    def of_run(self, rows: NDArray[np.intp], run: str, *, agent: str | None) -> Facts:
        """Facts of the run that has these rows.

        Parameters
        ----------
        rows : ndarray of intp
        run : str
            Its id, for messages.
        agent : str or None
            Wins over the table's agent.

        Raises
        ------
        InputError
            If the rows disagree about the agent, purpose, family or subset.
        """
        known = {"agent": agent} if agent else {}
        single = {m: known.get(m) or self._single(m, rows, run) for m in _SINGLE}
        model = self._joined("model", rows)
        name = single["agent"] or model or UNKNOWN_AGENT
        sessions = self._values("session", rows)
        return Facts(
            agent=name,
            agent_config=self._joined("config_hash", rows) or self._config(rows, name),
            agent_family=single["agent_family"],
            purpose=self._purpose(single["purpose"], run),
            subset_id=single["subset"],
            # A session per row is somebody else's word for something else.
            session_id=sessions[0] if len(sessions) == 1 else None,
            tags=self._common_tags(rows),
        )

    def names_agents(self) -> bool:
        """Whether there is a column that names agents."""
        return "agent" in self._columns or "model" in self._columns

    def _values(self, meaning: str, rows: NDArray[np.intp]) -> list[str]:
        if meaning not in self._columns:
            return []
        texts = self._texts[meaning]
        codes = np.unique(self._columns[meaning].codes[rows])
        return [texts[code] for code in codes if code >= 0 and texts[code]]

    def _single(self, meaning: str, rows: NDArray[np.intp], run: str) -> str | None:
        values = self._values(meaning, rows)
        if len(values) > 1:
            raise InputError(
                f"run {run!r} has two values in column `{self._columns[meaning].name}`, "
                f"{values[0]!r} and {values[1]!r}; give each run its own id"
            )
        return values[0] if values else None

    def _joined(self, meaning: str, rows: NDArray[np.intp]) -> str:
        values = sorted(self._values(meaning, rows))
        more = "+..." if len(values) > _MOST_PARTS else ""
        return "+".join(values[:_MOST_PARTS]) + more

    def _config(self, rows: NDArray[np.intp], agent: str) -> str:
        parts = [(meaning, self._joined(meaning, rows)) for meaning in _CONFIG]
        return " ".join(f"{key}={text}" for key, text in parts if text and text != agent)

    def _purpose(self, word: str | None, run: str) -> RunPurpose | None:
        if word is None:
            return None
        try:
            return RunPurpose(word.lower())
        except ValueError:
            raise InputError(
                f"run {run!r} has the purpose {word!r}; choose from {', '.join(RunPurpose)}"
            ) from None

    def _common_tags(self, rows: NDArray[np.intp]) -> tuple[str, ...]:
        """Tags on every row: the others describe questions, not the run."""
        if "tags" not in self._columns:
            return ()
        codes = np.unique(self._columns["tags"].codes[rows])
        sets = [self._tags[code] if code >= 0 else frozenset[str]() for code in codes]
        return tuple(sorted(frozenset.intersection(*sets)))


def _text(value: object) -> str:
    return "" if value is None or value != value else str(value).strip()  # NaN


def _tags(text: str) -> frozenset[str]:
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except ValueError:
            listed = [text]
        return frozenset(str(tag) for tag in listed)
    return frozenset(tag.strip() for tag in _SEPARATOR.split(text) if tag.strip())
