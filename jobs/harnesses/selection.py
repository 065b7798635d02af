"""A choice of questions in the form of an evaluation tool, and its mark in the logs."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from jobs.harnesses.log_values import logged_id
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

    def within_one_task(self, ids: Sequence[str], *, tasks: str) -> tuple[str | None, list[str]]:
        """Task of the questions, and their keys within it.

        Parameters
        ----------
        ids : sequence of str
        tasks : str
            What the tool calls tasks, for the message.

        Raises
        ------
        InputError
            If the questions are of several tasks.
        """
        located = [self.within_task(key) for key in ids]
        found = {task for task, _ in located}
        if len(found) > 1:
            raise InputError(
                f"the questions belong to {len(found)} {tasks}, which one run cannot have; import "
                "each as a benchmark of its own"
            )
        return next(iter(found)), [key for _, key in located]

    def ids_file(self, ids: Iterable[str]) -> dict[str, str]:
        """File of ids, one per line, by its name."""
        return {f"{self.label}.ids.txt": "".join(f"{key}\n" for key in ids)}

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


def filtered_dataset(
    ids: Sequence[str],
    context: SelectionContext,
    *,
    tool: str,
    program: Sequence[str],
    field: str,
    name: str,
) -> Selection:
    """Write the ids as a JSON list, with notes on where to filter and how to name the run.

    Parameters
    ----------
    ids : sequence of str
    context : SelectionContext
    tool : str
    program : sequence of str
        Command that runs the user's own evaluation; ``LABEL`` stands for the mark.
    field : str
        What an id is in the tool's words.
    name : str
        Where the mark goes, so that the log is recognised.
    """
    file = f"{context.label}.ids.json"
    path = context.path_of(file)
    return Selection(
        command=shell_command(
            "env", f"QUESTION_IDS={path}", *(w.replace("LABEL", context.label) for w in program)
        ),
        files={file: json.dumps([logged_id(key) for key in ids], indent=1) + "\n"},
        notes=(
            f"{tool} has no option for single questions: let your script keep only those whose "
            f"{field} is in the JSON list that the variable QUESTION_IDS names",
            f"{name} must have {context.label} in it, by which the log is recognised",
        ),
    )
