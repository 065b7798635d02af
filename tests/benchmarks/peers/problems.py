"""The same simulated verdicts for everyone, written to files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_RUNS, N_QUESTIONS = 287, 519
BANK_SIZE = 2000
DIFFICULTY_SD, LOG_SLOPE_SD = 1.5, 0.3
RUN_ABILITY = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """P(pass) = sigmoid(slope * ability - intercept); abilities may be unknown (empty)."""

    slope: Floats
    intercept: Floats
    ability: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class FitProblem:
    """Verdicts 1, 0 or -1 (missing), (m, n), and the parameters they were drawn from."""

    name: str
    model: str
    verdicts: NDArray[np.int8]
    truth: Parameters

    def write(self, folder: Path, *, epochs: int) -> Path:
        """Write what the workers may know: not the truth."""
        path = folder / f"{self.name}.npz"
        np.savez(path, model=self.model, verdicts=self.verdicts, seed=1, epochs=epochs)
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProblem:
    """A bank with known parameters and the verdict that a run would give on each question."""

    name: str
    model: str
    slope: Floats
    intercept: Floats
    verdicts: NDArray[np.int8]
    k: int

    def write(self, folder: Path, **ours: list[float]) -> Path:
        """Write bank, verdicts and, for the peers, the questions and abilities of our run."""
        path = folder / f"{self.name}{'-peers' if ours else ''}.npz"
        np.savez(
            path,
            model=self.model,
            slope=self.slope,
            intercept=self.intercept,
            verdicts=self.verdicts,
            k=self.k,
            **{key: np.array(values) for key, values in ours.items()},
        )
        return path


def fit_problem(
    model: str, *, missing: float, rng: np.random.Generator, m: int = N_RUNS, n: int = N_QUESTIONS
) -> FitProblem:
    """Abilities N(0, 1), locations N(0, 1.5^2), slopes 1 (``rasch``) or lognormal (``2pl``)."""
    slope, intercept = draw_bank(model, n, rng)
    ability = rng.normal(0.0, 1.0, m)
    verdicts = draw_verdicts(np.outer(ability, slope) - intercept, rng)
    verdicts[rng.random(verdicts.shape) < missing] = -1
    return FitProblem(
        name=f"fit-{model}-{'missing' if missing else 'complete'}",
        model=model,
        verdicts=verdicts,
        truth=Parameters(slope=slope, intercept=intercept, ability=ability),
    )


def step_problem(
    model: str, *, k: int, rng: np.random.Generator, n: int = BANK_SIZE
) -> StepProblem:
    """Draw a bank and a run of known ability."""
    slope, intercept = draw_bank(model, n, rng)
    verdicts = draw_verdicts(slope * RUN_ABILITY - intercept, rng)
    return StepProblem(
        name=f"step-{model}", model=model, slope=slope, intercept=intercept, verdicts=verdicts, k=k
    )


def draw_bank(model: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Slopes and intercepts."""
    location = rng.normal(0.0, DIFFICULTY_SD, n)
    slope = np.ones(n) if model == "rasch" else rng.lognormal(0.0, LOG_SLOPE_SD, n)
    return slope, slope * location


def draw_verdicts(logits: Floats, rng: np.random.Generator) -> NDArray[np.int8]:
    """1 with the logistic probability, else 0."""
    return (rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-logits))).astype(np.int8)
