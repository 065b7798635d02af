"""Drive adaptive sessions in tests: the agent is a run of the imported history."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from jobs.randomness import generator
from recurring_eval.hspr import HsprSession
from storage.calibrations.calibrations import latest_calibration
from tests.jobs.command_line import Outcome, invoke
from tests.jobs.histories import BENCHMARK, pass_matrix, reading

KEYS: Final = {
    *("session_id", "method", "k", "n_valid", "n_left", "finished", "questions", "asked"),
    *("estimate", "run_id"),
}


def adaptive(*arguments: str | Path, code: int = 0) -> Outcome:
    """Run a command of the group in the working directory, without progress."""
    outcome = invoke("adaptive", *arguments, "--quiet")
    assert outcome.code == code, outcome
    return outcome


def document(*arguments: str | Path) -> Any:
    """Run a command and return its document."""
    return adaptive(*arguments, "--json").document


def words_of_agent(folder: Path, row: int = -1) -> dict[str, str]:
    """What the last full run answers, by question: pass, fail or missing:error."""
    run = pass_matrix(folder).iloc[row]
    words = {1.0: "pass", 0.0: "fail"}
    return {q: "missing:error" if np.isnan(v) else words[v] for q, v in run.items()}


def live_through(folder: Path, k: int, words: dict[str, str]) -> Any:
    """Start a session and tell it every question it asks; the last document."""
    state = document("start", "--k", str(k))
    while state["questions"]:
        (question,) = state["questions"]
        state = document("tell", state["session_id"], f"{question}={words[question]}")
    return state


def uninterrupted(folder: Path, seed: int) -> HsprSession:
    """A session of the core on the stored calibration, held in memory."""
    with reading(folder) as history:
        sources = latest_calibration(history, BENCHMARK, "main").hspr
    assert sources is not None
    rng = generator(seed, "adaptive", "order")
    return HsprSession.start(sources.model, sources.config, rng=rng)


def counts(word: str) -> tuple[int, int]:
    """Passes and trials of a word."""
    return {"pass": (1, 1), "fail": (0, 1)}.get(word, (0, 0))
