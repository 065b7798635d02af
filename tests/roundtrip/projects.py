"""A project whose benchmark has given questions, and a subset of it in a tool's words."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.jobs.command_line import invoke
from tests.jobs.harnesses.stored import stored_runs, stored_verdicts
from tests.jobs.histories import logs, night_of, start

CONFIG = """\
[defaults]
subset_sizes = []
minimum_runs = 4
"""


def calibrated(folder: Path, questions: Sequence[str], benchmark: str) -> None:
    """Start a project with simulated runs over these questions, and calibrate it."""
    simulated = logs(benchmark=benchmark, n_questions=len(questions))
    keys = tuple(questions)
    start(folder, [replace(log, question_ids=keys) for log in simulated], config=CONFIG)
    outcome = invoke("recalibrate", "--as-of", str(night_of(12)), "--quiet")
    assert outcome.code == 0, outcome.err


def selected(folder: Path, tool: str, k: int, benchmark: str) -> dict[str, Any]:
    """Ask for a subset in the words of a tool, whose files are put into the folder."""
    outcome = invoke(
        *("subset", "--k", str(k), "--format", tool, "--benchmark", benchmark, "--json")
    )
    assert outcome.code == 0, outcome.err
    for name, content in outcome.document["files"].items():
        assert (folder / name).read_text() == content
    return outcome.document


def check_recognised(folder: Path, logs_folder: Path, asked: dict[str, Any], *more: str) -> None:
    """Import logs without saying what they are: one run of the subset, with its questions."""
    before = stored_runs(folder).keys()
    outcome = invoke("import", logs_folder, *more, "--json")
    assert outcome.code == 0, outcome.err
    (new,) = stored_runs(folder).keys() - before
    run = stored_runs(folder)[new]
    assert (run["kind"], run["subset_id"]) == ("partial", asked["subset_id"])
    verdicts = stored_verdicts(folder)[new]
    assert {question for question, _ in verdicts} == set(asked["question_ids"])
    assert not [note for note in outcome.err.splitlines() if "outside" in note or "not ret" in note]
    estimate = invoke("estimate", new, "--json")
    assert estimate.code == 0, estimate.err
    assert estimate.document["k"] == asked["k"]
