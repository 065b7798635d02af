"""Grade exactly some instances with SWE-bench."""

import re
from collections.abc import Sequence

from jobs.harnesses.selection import Selection, SelectionContext, shell_command
from recurring_eval.errors import InputError


def select_instances(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Give the command of the harness, and the ids as a list and as a pattern for the agent.

    Raises
    ------
    InputError
        If an id would be read as an option, or there are too many for a command line.
    """
    odd = [key for key in ids if key.startswith("-") or re.search(r"[\s,]", key)]
    if odd:
        raise InputError(f"SWE-bench cannot be given the instance id {odd[0]!r}")
    label = context.label
    command = shell_command(
        *("python", "-m", "swebench.harness.run_evaluation"),
        *("-d", "DATASET", "-p", "PREDICTIONS", "-id", label, "-i", *ids),
    )
    pattern = "^(" + "|".join(re.escape(key) for key in ids) + ")$"
    return Selection(
        command=command,
        files={
            f"{label}.ids.txt": "\n".join(ids) + "\n",
            f"{label}.filter.txt": pattern + "\n",
        },
        notes=(
            "put the dataset and the file of predictions in the places of DATASET and PREDICTIONS",
            "this only grades: the agent must have made a prediction for each of the ids in"
            f" {label}.ids.txt; {label}.filter.txt has them as a regular expression for an agent's"
            " own filter",
            f"keep {label} in the run id, by which the report is recognised; for a repetition add"
            " .r2 to it, for SWE-bench skips instances that have a report under the same id",
        ),
    )
