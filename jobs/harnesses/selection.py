"""A choice of questions in the words of an evaluation tool, and its mark in the logs."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from jobs.harnesses.verdict_rule import VerdictRule
from recurring_eval.errors import InputError

LONGEST_COMMAND: Final = 100_000
"""Bytes; Linux allows 128 KiB per argument, and a file is the better form far before that."""

_SUBSET: Final = re.compile(r"\bsubset[:=.](.+?-k[1-9][0-9]*-[0-9a-f]{8}(?:-[1-9][0-9]*)?)(?!\w)")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionContext:
    """What a tool may need to know to run some questions.

    Attributes
    ----------
    benchmark, subset_id : str
    task : str or None
        The tool's own name of the benchmark, as its logs write it, if there is one.
    other_tasks : tuple of str
        Tasks whose questions have keys of the form ``task/id``.
    bank_ids : tuple of str
        Every question of the benchmark, so that a pattern can be checked to match no other.
    rule : VerdictRule
        How the benchmark's logs are read; `question` names the field of the ids.
    locators : mapping of str to str
        Question key -> what the tool calls it, where that differs (see `LogFile.locators`).
    folder : str
        Where the selection's files will be, as seen from where the command is run; empty if
        that is the same.
    """

    benchmark: str
    subset_id: str
    task: str | None = None
    other_tasks: tuple[str, ...] = ()
    bank_ids: tuple[str, ...] = ()
    rule: VerdictRule = field(default_factory=VerdictRule)
    locators: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""

    def path_of(self, file: str) -> str:
        """Path of one of the selection's files for its command."""
        return str(PurePosixPath(self.folder, file)) if self.folder else file

    @property
    def mark(self) -> str:
        """Tag that marks a run as one of this subset, for tools with free tags."""
        return f"subset:{self.subset_id}"

    @property
    def label(self) -> str:
        """The mark in letters, digits and ``._-`` alone, for names of runs and files."""
        return f"subset.{safe_name(self.subset_id)}"

    def within_task(self, key: str) -> tuple[str | None, str]:
        """Task of a question, and its key within the task."""
        found = [task for task in self.other_tasks if key.startswith(f"{task}/")]
        if not found:
            return self.task, key
        task = max(found, key=len)
        return task, key[len(task) + 1 :]

    def located(self, ids: Sequence[str], what: str) -> list[str]:
        """Locators of questions, in order.

        Raises
        ------
        InputError
            If some are unknown, saying that a log with `what` must be imported first.
        """
        lost = [key for key in ids if key not in self.locators]
        if lost:
            raise InputError(
                f"{what} of {len(lost)} questions is not known, among them {lost[0]!r}; "
                "import a full run's log of this tool first, then ask again"
            )
        return [self.locators[key] for key in ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How to run exactly the chosen questions.

    Attributes
    ----------
    command : str
        Command line for a POSIX shell; refers to the files with `SelectionContext.path_of`.
    files : mapping of str to str
        File name -> content, to be written into `SelectionContext.folder`.
    notes : tuple of str
        What to fill in or to mind, one line each.
    """

    command: str
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def subset_marked(texts: Iterable[object]) -> str | None:
    """Id of the subset that tags, metadata values or names of runs are marked with.

    Looks for ``subset:ID``, ``subset=ID`` and ``subset.ID``. An id from a name
    may be the `safe_name` of the real one; the import finds that.
    """
    for text in texts:
        match = _SUBSET.search(text) if isinstance(text, str) else None
        if match is not None:
            return match[1]
    return None


def safe_name(text: str) -> str:
    """Text with everything but letters, digits, dots, dashes and underscores replaced."""
    return _UNSAFE.sub("_", text)


def shell_command(*words: str) -> str:
    """Command line whose words reach the program literally in a POSIX shell.

    Raises
    ------
    InputError
        If it is too long for a command line or a word cannot be passed.
    """
    if any("\0" in word for word in words):
        raise InputError("a question id with a NUL character cannot be passed to a program")
    command = shlex.join(words)
    if len(command.encode()) > LONGEST_COMMAND:
        raise InputError(
            f"the command line would be {len(command.encode()):,} bytes long, too long for a shell"
        )
    return command


def glob_literal(text: str) -> str:
    """Pattern of `fnmatch` and shells that matches only this text."""
    return re.sub(r"[*?[]", lambda match: f"[{match[0]}]", text)
