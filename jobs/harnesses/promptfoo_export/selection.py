"""Run exactly some tests with promptfoo."""

import re
from collections.abc import Sequence
from typing import Final

from jobs.harnesses.question_key import logged_id
from jobs.harnesses.selection import Selection, SelectionContext, shell_command
from recurring_eval.errors import InputError

_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def select_tests(ids: Sequence[str], context: SelectionContext) -> Selection:
    """Give a pattern on the descriptions, the one thing promptfoo picks single tests by.

    Raises
    ------
    InputError
        If a test has no description, or shares it with another.
    """
    by_key = dict(context.locators)
    if context.rule.question == "description":
        by_key |= {key: str(logged_id(key)) for key in {*ids, *context.bank_ids} - by_key.keys()}
    lost = [key for key in ids if not by_key.get(key)]
    if lost:
        raise InputError(
            f"promptfoo picks tests by their description, and that of {len(lost)} is not known, "
            f"among them {lost[0]!r}; give each test a description of its own (its id will do) and "
            "import a JSON export of a full run first"
        )
    chosen = {by_key[key] for key in ids}
    others = [key for key, text in by_key.items() if text in chosen and key not in set(ids)]
    if others or len(chosen) < len(ids):
        twin = others[0] if others else ids[0]
        raise InputError(
            f"promptfoo picks tests by their description, and {by_key[twin]!r:.80} is that of "
            "several; "
            "give each test its own and import a full run again"
        )
    pattern = "^(" + "|".join(_literal(by_key[key]) for key in ids) + ")$"
    label = context.label
    output = f"{label}.json"
    return Selection(
        command=shell_command(
            *("promptfoo", "eval", "-c", "CONFIG", "--filter-pattern", pattern),
            *("--tag", f"subset={context.subset_id}", "--no-cache", "-o", context.path_of(output)),
        ),
        files={f"{label}.pattern.txt": pattern + "\n"},
        notes=(
            "put the configuration in the place of CONFIG; leave out the other --filter options",
            f"import {output}; promptfoo ends with status 100 when a test failed, and with 0 even "
            "when the pattern matched nothing",
        ),
    )


def _literal(text: str) -> str:
    """Regular expression of JavaScript that matches only this text."""
    return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)
