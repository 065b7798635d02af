"""Drive adaptive sessions in tests: the agent is a run of the imported history."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from jobs.randomness import generator
from recurring_eval.methods.registry import DEFAULT_STEPS, method_named
from recurring_eval.methods.session import Session
from recurring_eval.methods.steps import StepMethod
from tests.jobs.command_line import Outcome, invoke
from tests.jobs.histories import latest_night, pass_matrix

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


def live_through(k: int, words: dict[str, str], *options: str) -> Any:
    """Start a session and tell it every question it asks; the last document."""
    state = document("start", "--k", str(k), *options)
    while state["questions"]:
        (question,) = state["questions"]
        state = document("tell", state["session_id"], f"{question}={words[question]}")
    return state


def uninterrupted(folder: Path, seed: int, method: str = DEFAULT_STEPS.name) -> Session:
    """A session of the core on the stored calibration, held in memory, without an end."""
    fitted = latest_night(folder).fitted
    asking = method_named(method)
    assert isinstance(asking, StepMethod)
    rng = generator(seed, "adaptive", "order")
    return Session.start(asking, fitted, k=fitted.n_questions, rng=rng)


def score_of(session: Session) -> float:
    """What a session of the core says of the run so far."""
    (pass_rate,) = session.score().pass_rate
    return float(pass_rate)


def counts(word: str) -> tuple[int, int]:
    """Passes and trials of a word."""
    return {"pass": (1, 1), "fail": (0, 1)}.get(word, (0, 0))
