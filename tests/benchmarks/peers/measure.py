"""Run every worker in its environment and compare what it found."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.peers.agreement import Agreement, agreement, informative, on_one_scale
from tests.benchmarks.peers.environment import REPOSITORY, WORKERS, interpreter, last_line
from tests.benchmarks.peers.problems import (
    FitProblem,
    Floats,
    Parameters,
    StepProblem,
)

OURS = "ours"
FITTERS = {"girth": "fit_girth.py", "py-irt": "fit_py_irt.py"}
STEPPERS = {"catsim": "step_catsim.py", "adaptivetesting": "step_adaptivetesting.py"}

SAME_CHOICE = "share of the same choices at the same states"
LEAST = "least information of their choice over ours"

Found = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One peer on one task: CPU seconds of both, and agreements by name; or why not."""

    task: str
    peer: str
    version: str = ""
    our_seconds: float = float("nan")
    their_seconds: float = float("nan")
    agreements: dict[str, Agreement] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def ratio(self) -> float:
        """Ours over theirs: less than one where we are faster."""
        return self.our_seconds / self.their_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where workers run and leave their results; a result already there is used again."""

    environment: Path
    folder: Path
    epochs: int
    timeout: float = 3600.0
    progress: Callable[[str], None] = print

    def run(self, worker: str, given: Path, *, ours: bool = False) -> Found:
        """Result of a worker; ``{"reason": ...}`` where it failed."""
        result = self.folder / f"{given.stem}-{Path(worker).stem}.json"
        if not result.exists():
            self.progress(f"{given.stem}: {worker}")
            reason = self._run(worker, given, result, ours=ours)
            if reason is not None:
                return {"reason": reason}
        found: Found = json.loads(result.read_text("utf-8"))
        return found

    def _run(self, worker: str, given: Path, result: Path, *, ours: bool) -> str | None:
        python = sys.executable if ours else interpreter(self.environment)
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            variables[name] = "1"
        if ours:
            variables["PYTHONPATH"] = str(REPOSITORY)
        command = [str(python), str(WORKERS / worker), str(given), str(result)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                env=variables,
                timeout=self.timeout,
            )
        except subprocess.TimeoutExpired:
            return f"took longer than {self.timeout:.0f} s"
        return None if done.returncode == 0 else last_line(done.stderr)


def compare_fits(problem: FitProblem, place: Place, peers: dict[str, str]) -> list[Row]:
    """Rows of the peers that fit models; `peers` maps the absent ones to the reason."""
    given = problem.write(place.folder, epochs=place.epochs)
    ours = _ours(place.run("fit_ours.py", given, ours=True))
    rows = []
    for peer, worker in FITTERS.items():
        theirs = {"reason": peers[peer]} if peer in peers else place.run(worker, given)
        if "reason" in theirs:
            rows.append(Row(task=problem.name, peer=peer, reason=theirs["reason"]))
            continue
        rows.append(
            Row(
                task=problem.name,
                peer=peer,
                version=theirs["version"],
                our_seconds=ours["cpu_seconds"],
                their_seconds=theirs["cpu_seconds"],
                agreements=fit_agreements(problem, parameters(ours), parameters(theirs)),
            )
        )
    return rows


def fit_agreements(
    problem: FitProblem, ours: Parameters, theirs: Parameters
) -> dict[str, Agreement]:
    """Difficulties, and for the 2PL discriminations: theirs and ours, each and the truth."""
    questions = informative(problem.verdicts)
    scaled = {
        name: on_one_scale(found, model=problem.model, questions=questions)
        for name, found in {"theirs": theirs, "ours": ours, "truth": problem.truth}.items()
    }
    attributes = {"difficulty": "intercept"}
    if problem.model == "2pl":
        attributes["discrimination"] = "slope"
    return {
        f"{label}: {one} and {other}": agreement(
            getattr(scaled[one], attribute), getattr(scaled[other], attribute)
        )
        for label, attribute in attributes.items()
        for one, other in (("theirs", "ours"), ("theirs", "truth"), ("ours", "truth"))
    }


def compare_steps(problem: StepProblem, place: Place, peers: dict[str, str]) -> list[Row]:
    """Rows of the peers that choose questions one by one."""
    ours = _ours(place.run("step_ours.py", problem.write(place.folder), ours=True))
    given = problem.write(place.folder, our_chosen=ours["chosen"], our_abilities=ours["abilities"])
    rows = []
    for peer, worker in STEPPERS.items():
        theirs = {"reason": peers[peer]} if peer in peers else place.run(worker, given)
        if "reason" in theirs:
            rows.append(Row(task=problem.name, peer=peer, reason=theirs["reason"]))
            continue
        for part, seconds in {"": "cpu_seconds", ", choice alone": "choosing_seconds"}.items():
            rows.append(
                Row(
                    task=problem.name + part,
                    peer=peer,
                    version=theirs["version"],
                    our_seconds=ours[seconds],
                    their_seconds=theirs[seconds],
                    agreements={} if part else step_agreements(problem, ours, theirs),
                    shares={} if part else step_shares(problem, ours, theirs),
                )
            )
    return rows


def step_agreements(problem: StepProblem, ours: Found, theirs: Found) -> dict[str, Agreement]:
    """Abilities from the same answers: those of our run, once ten or so have settled it."""
    settled = slice(min(10, problem.k // 2), None)
    return {
        "ability: theirs and ours": agreement(
            np.array(theirs["ability_at_our_states"])[settled],
            np.array(ours["abilities"])[settled],
        )
    }


def step_shares(problem: StepProblem, ours: Found, theirs: Found) -> dict[str, float]:
    """Their choices at our states: the share that is ours, the least information beside ours."""
    before = np.array([0.0, *ours["abilities"][:-1]])
    our_choice = np.array(ours["chosen"])
    their_choice = np.array(theirs["chosen_at_our_states"])
    relative = information(problem, their_choice, before) / information(problem, our_choice, before)
    return {SAME_CHOICE: float(np.mean(our_choice == their_choice)), LEAST: float(relative.min())}


def information(problem: StepProblem, chosen: np.ndarray, ability: Floats) -> Floats:
    """Fisher information of the chosen questions, a^2 p (1 - p)."""
    slope = problem.slope[chosen]
    p = 1.0 / (1.0 + np.exp(problem.intercept[chosen] - slope * ability))
    return np.asarray(slope**2 * p * (1.0 - p))


def parameters(found: Found) -> Parameters:
    """Arrays of a worker's result; null is not a number."""
    return Parameters(
        **{
            name: np.array(found[name], dtype=np.float64)
            for name in ("slope", "intercept", "ability")
        }
    )


def _ours(found: Found) -> Found:
    if "reason" in found:
        raise RuntimeError(f"our own worker failed: {found['reason']}")
    return found
