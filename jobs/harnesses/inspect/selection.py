"""Run exactly some samples with Inspect AI."""

import json
from collections.abc import Sequence

from jobs.harnesses.question_key import logged_id
from jobs.harnesses.selection import Selection, SelectionContext, glob_literal, shell_command
from recurring_eval.errors import InputError

_DIGITS = 20


def select_samples(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Give a run configuration, the one form that takes any id.

    Inspect matches each entry as a shell pattern, so patterns are escaped; it pads ids of
    digits to one length, so 7 and "007" cannot be told apart; and it strips the task's own
    name before a colon, so such ids are written with it twice.

    Raises
    ------
    InputError
        If an id cannot be selected, or not without another.
    """
    located = [context.within_task(key) for key in ids]
    tasks = {task for task, _ in located}
    if len(tasks) > 1:
        raise InputError(
            f"the questions belong to {len(tasks)} tasks of Inspect AI, which one selection cannot "
            "name safely; import each task as a benchmark of its own"
        )
    task = context.task if tasks == {context.task} else next(iter(tasks))
    _refuse_twins(ids, context)
    name = task or context.benchmark
    config = {
        "eval_config": {"sample_id": [_pattern(key, name) for _, key in located]},
        "tags": [context.mark],
        "metadata": {"subset_id": context.subset_id},
    }
    file = f"{context.label}.json"
    return Selection(
        command=shell_command(
            "inspect", "eval", "TASK_FILE", "--run-config", context.path_of(file)
        ),
        files={file: json.dumps(config, indent=1) + "\n"},
        notes=(
            f"put the file of task {name!r} in the place of TASK_FILE, and add --model and what "
            "else the run needs; leave out --limit and --sample-id",
        ),
    )


def _refuse_twins(ids: Sequence[str], context: SelectionContext) -> None:
    """Refuse to select a question that Inspect would run together with another."""
    chosen = set(ids)
    twins: dict[str, list[str]] = {}
    for key in {*context.bank_ids, *ids}:
        task, rest = context.within_task(key)
        twins.setdefault(f"{task}\0{_normalised(rest)}", []).append(key)
    for group in twins.values():
        left = sorted(set(group) - chosen)
        if left and len(left) < len(group):
            asked = sorted(set(group) & chosen)
            raise InputError(
                f"Inspect AI cannot run sample {asked[0]!r} without sample {left[0]!r}, for it "
                "reads both as the same number; rename one in the dataset"
            )


def _pattern(key: str, task: str) -> str | int:
    value = logged_id(key)
    _normalised(key)
    if isinstance(value, int):
        return value
    pattern = glob_literal(value)
    prefix, colon, _ = value.partition(":")
    if colon and prefix.lower() == task.lower():
        return f"{prefix}:{pattern}"
    return pattern


def _normalised(key: str) -> str:
    value = logged_id(key)
    if isinstance(value, str) and value.isdigit():
        try:
            value = int(value)
        except ValueError:
            raise InputError(
                f"Inspect AI stops at the sample id {value!r}, a digit it cannot read as a number; "
                "rename it in the dataset"
            ) from None
    return value if isinstance(value, str) else str(value).zfill(_DIGITS)
