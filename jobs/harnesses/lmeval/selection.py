"""Run exactly some documents with lm-eval."""

import json
from collections.abc import Iterable, Sequence

from jobs.harnesses.json_files import as_list, as_text, inside, parse_json
from jobs.harnesses.lmeval.sample_rows import SampleRow
from jobs.harnesses.selection import Selection, SelectionContext, shell_command
from recurring_eval.errors import InputError


def locators_of(task: str, rows: Iterable[SampleRow]) -> dict[str, str]:
    """Task and positions of each document, for documents alike are the same question."""
    positions: dict[str, set[int]] = {}
    for row in rows:
        if row.doc_id is not None:
            positions.setdefault(row.key, set()).add(row.doc_id)
    return {key: json.dumps([task, sorted(found)]) for key, found in positions.items()}


def select_documents(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Give the positions of the documents in a file.

    They are ascending, for lm-eval labels documents wrongly when they are not.

    Raises
    ------
    InputError
        If the position of a document is not known.
    """
    positions: dict[str, set[int]] = {}
    for locator in context.located(ids, "the position in the dataset"):
        parsed = parse_json(locator.encode())
        task, *rest = as_list(parsed)
        found = {item for item in as_list(rest[0] if rest else None) if isinstance(item, int)}
        positions.setdefault(as_text(task), set()).update(found)
    tasks = sorted(positions)
    if any("," in task for task in tasks):
        raise InputError("lm-eval cannot run a task with a comma in its name")
    file = f"{context.label}.json"
    samples = {task: sorted(positions[task]) for task in tasks}
    return Selection(
        command=shell_command(
            "lm_eval",
            "run",
            "--tasks",
            ",".join(tasks),
            "--samples",
            context.path_of(file),
            "--log_samples",
            "--output_path",
            context.label,
            "--metadata",
            json.dumps({"subset_id": context.subset_id}),
        ),
        files={file: json.dumps(samples) + "\n"},
        notes=(
            "add --model, --model_args and what else the run needs; leave out --limit",
            "positions are those of the newest imported run; they move when the dataset changes",
        ),
    )


def subset_of(results: object, task: str) -> str | None:
    """Subset id that the selection put into the metadata of each task."""
    return as_text(inside(results, "configs", task, "metadata", "subset_id")) or None
