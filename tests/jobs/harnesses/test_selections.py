"""Selections against the matching rules of the tools they are for."""

import json
import re
import shlex
import subprocess
from fnmatch import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.harnesses.inspect_ai.reader import INSPECT_AI
from jobs.harnesses.log_values import logged_id, question_key
from jobs.harnesses.selection import (
    SelectionContext,
    glob_literal,
    safe_name,
    shell_command,
    subset_marked,
)
from recurring_eval.errors import InputError

SUBSET = "qa-k2-00c0ffee"
TEXTS = st.text(
    st.one_of(st.sampled_from("*?[]!-:,07 \t'\"\\aA²"), st.characters(exclude_categories=["Cs"])),
    min_size=1,
    max_size=12,
).filter(lambda text: text.strip() and not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text))
IDS = st.one_of(TEXTS, st.integers(-(10**30), 10**30))


def normalised(value: str | int) -> str:
    """Inspect AI's own rule (inspect_ai/dataset/_util.py), restated."""
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    return value if isinstance(value, str) else str(value).zfill(20)


def selects(entries: list[str | int], task: str, dataset: list[str | int]) -> set[str | int]:
    """What Inspect AI runs for these entries (inspect_ai/_eval/task/util.py), restated."""
    patterns = []
    for entry in entries:
        if isinstance(entry, str):
            scope, colon, rest = entry.partition(":")
            entry = rest if colon and scope.lower() == task.lower() else entry
        patterns.append(normalised(entry))
    return {i for i in dataset if any(fnmatch(normalised(i), p) for p in patterns)}


def alike(value: str | int, others: set[str | int]) -> bool:
    """Whether Inspect AI takes a value for one of the others."""
    return any(normalised(value) == normalised(other) for other in others)


def chosen(ids: list[str], bank: list[str], task: str | None = "qa") -> list[str | int]:
    context = SelectionContext(
        benchmark="qa", subset_id=SUBSET, task=task, bank_ids=tuple(sorted(bank))
    )
    ((_, content),) = INSPECT_AI.selection(ids, context).files.items()
    entries: list[str | int] = json.loads(content)["eval_config"]["sample_id"]
    return entries


@settings(max_examples=300, deadline=None)
@given(st.lists(IDS, min_size=1, max_size=12, unique_by=repr), st.data())
def test_inspect_runs_exactly_what_was_chosen_or_is_not_asked(dataset, data):
    keys = [question_key(value) for value in dataset]
    ids = data.draw(st.lists(st.sampled_from(keys), min_size=1, unique=True))
    wanted = {logged_id(key) for key in ids}
    unreadable = any(str(v).isdigit() and not str(v).isdecimal() for v in dataset)
    if unreadable or {v for v in dataset if alike(v, wanted)} != wanted:
        with pytest.raises(InputError, match=r"cannot run sample|stops at the sample id"):
            chosen(ids, keys)
    else:
        assert selects(chosen(ids, keys), "qa", dataset) == wanted


def test_inspect_cannot_tell_numbers_apart():
    for one, other in (("7", "007"), ("7", '"7"'), ("٣", "3")):
        with pytest.raises(InputError, match=f"cannot run sample {one!r} without sample"):
            chosen([one], [one, other, "x"])
        assert len(chosen([one, other], [one, other, "x"])) == 2
    with pytest.raises(InputError, match="stops at the sample id '²'"):
        chosen(["²"], ["²", "x"])


def test_inspect_ids_with_the_tasks_name():
    dataset: list[str | int] = ["qa:1", "QA:*", "1", "qa:qa:x", "other:1", "*"]
    for key in map(str, dataset):
        assert selects(chosen([key], [str(i) for i in dataset]), "qa", dataset) == {key}


def test_inspect_is_marked_twice():
    context = SelectionContext(benchmark="qa", subset_id=SUBSET, folder="a b")
    found = INSPECT_AI.selection(["x"], context)
    assert shlex.split(found.command)[-1] == f"a b/subset.{SUBSET}.json"
    (content,) = found.files.values()
    assert json.loads(content)["tags"] == [f"subset:{SUBSET}"]
    assert json.loads(content)["metadata"] == {"subset_id": SUBSET}


def test_inspect_selects_in_one_task_only():
    context = SelectionContext(
        benchmark="b", subset_id=SUBSET, task="one", other_tasks=("two", "two/deep")
    )
    assert context.within_task("two/deep/x") == ("two/deep", "x")
    assert context.within_task("x/y") == ("one", "x/y")
    with pytest.raises(InputError, match="2 tasks"):
        INSPECT_AI.selection(["x", "two/y"], context)
    (content,) = INSPECT_AI.selection(["two/y"], context).files.values()
    assert json.loads(content)["eval_config"]["sample_id"] == ["y"]


@given(TEXTS, TEXTS)
def test_glob_literal_matches_itself_alone(text, other):
    assert fnmatch(text, glob_literal(text))
    assert fnmatch(other, glob_literal(text)) == (other == text)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS.filter(lambda text: "\r" not in text), min_size=1, max_size=4))
def test_words_reach_a_program_through_the_shell(words):
    command = shell_command("printf", "%s\\0", *words)
    printed = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True).stdout
    assert printed.decode().split("\0")[:-1] == words


def test_shell_commands_have_bounds():
    with pytest.raises(InputError, match="too long for a shell"):
        shell_command("x", *["y" * 100] * 1000)
    with pytest.raises(InputError, match="NUL"):
        shell_command("a\0b")


@given(IDS)
def test_keys_keep_the_id_and_its_type(value):
    assert logged_id(question_key(value)) == value
    assert type(logged_id(question_key(value))) is type(value)


def test_keys_of_alike_ids_differ():
    assert len({question_key(value) for value in (7, "7", "007", "7.0", " 7")}) == 5
    assert question_key("7", typed=False) == "7"
    for bad in (None, True, 1.5, [], "", " ", "a\0", "\ud800", "x" * 2001, 10**90):
        with pytest.raises(InputError):
            question_key(bad)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("subset:swe-bench-k100-3f9a2c1b", "swe-bench-k100-3f9a2c1b"),
        ("subset=b-k1-00000000-2", "b-k1-00000000-2"),
        ("nightly.subset.b-k20-0123abcd.r2", "b-k20-0123abcd"),
        ("model__x.subset.my_bench-k20-0123abcd", "my_bench-k20-0123abcd"),
        ("subset:my bench: a-k5-0123abcd", "my bench: a-k5-0123abcd"),
        ("subset:all", None),
        ("unsubset:b-k1-00000000", None),
        ("subset:b-k1-0000000", None),
        (7, None),
    ],
)
def test_marks(text, found):
    assert subset_marked(["x", text]) == found


def test_labels_are_safe_names():
    context = SelectionContext(benchmark="b", subset_id="my bench/é-k5-0123abcd")
    assert context.label == "subset.my_bench__-k5-0123abcd"
    assert subset_marked([context.label]) == safe_name(context.subset_id)
