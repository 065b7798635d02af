"""A selection for tools that cannot run single questions: their ids, for a filter of one's own."""

import json
from collections.abc import Sequence

from jobs.harnesses.question_key import logged_id
from jobs.harnesses.selection import Selection, SelectionContext, shell_command


def filtered_dataset(
    ids: Sequence[str],
    context: SelectionContext,
    *,
    tool: str,
    program: Sequence[str],
    field: str,
    name: str,
) -> Selection:
    """Give the ids as a JSON list and say where to filter, and what to name the run.

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
