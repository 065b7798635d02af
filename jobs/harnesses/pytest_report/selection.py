"""Run exactly some tests with pytest."""

import re
from collections.abc import Sequence
from typing import Final

from jobs.harnesses.selection import Selection, SelectionContext, shell_command
from recurring_eval.errors import InputError

_NODE: Final = re.compile(r"[^-@\s:][^\n\r]*\.(py|txt|rst|md|ya?ml|json)(::.*)?", re.DOTALL)


def select_nodes(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Give a file of node ids, which pytest takes as ``@FILE``, one per line.

    Raises
    ------
    InputError
        If a question's node id is not known.
    """
    nodes = [context.locators.get(key, key) for key in ids]
    odd = [node for node in nodes if not _NODE.fullmatch(node) or "\n" in node or "\r" in node]
    if odd:
        raise InputError(
            f"the node id of {len(odd)} questions is not known, among them {odd[0]!r}; import a "
            "report of a full run that was made with -o junit_family=xunit1, or with --json-report"
        )
    label = context.label
    return Selection(
        command=shell_command(
            *("pytest", f"@{context.path_of(f'{label}.ids.txt')}"),
            *("-o", "junit_family=xunit1", "-o", f"junit_suite_name={label}"),
            f"--junitxml={context.path_of(f'{label}.xml')}",
        ),
        files={f"{label}.ids.txt": "".join(f"{node}\n" for node in nodes)},
        notes=(
            "run it in pytest's root folder, from which node ids are counted; one that no longer"
            " exists stops the session; to repeat, run it again, for --count changes the node ids",
            f"import {label}.xml; for a JSON report, add --json-report"
            f" --json-report-file={label}.json and keep its name, the only place for the mark",
        ),
    )
