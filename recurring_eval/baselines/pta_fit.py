"""Training PTA-IRT's student on verdicts alone."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.four_pl import FourPl
from recurring_eval.baselines.pta_networks import Network, bank_of, entropy_gradients
from recurring_eval.errors import NotEnoughDataError

Floats = NDArray[np.float64]
Cells = tuple[NDArray[np.intp], NDArray[np.intp], Floats]

N_EPOCHS: Final = 50
PATIENCE: Final = 4
BATCH: Final = 256
LEARNING_RATE: Final = 1e-3
WEIGHT_DECAY: Final = 1e-4
VALIDATION_SHARE: Final = 0.2

_DECAY_1: Final = 0.9
_DECAY_2: Final = 0.999
_TINY: Final = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class PtaStudent:
    """Fitted 4PL bank of n questions and abilities (m,) of the source runs."""

    bank: FourPl
    ability: Floats


def fit_pta_student(
    passes: NDArray[np.integer], trials: NDArray[np.integer], *, rng: np.random.Generator
) -> PtaStudent:
    """Train the student's networks as published, without teacher and trajectories.

    Adam on mini-batches of verdicts with a fifth of them held out; training
    stops when their F1 has not risen for four epochs, and the best epoch counts.

    Parameters
    ----------
    passes, trials : ndarray of int, shape (m, n)
        Cells without trials are left out.
    rng : numpy.random.Generator
        Draws the start, the held-out cells and the batches.

    Raises
    ------
    NotEnoughDataError
        There are fewer than two verdicts.

    References
    ----------
    Duan et al. 2026 (PTA-IRT), student only.
    """
    m, n = trials.shape
    runs, questions = np.nonzero(trials)
    if len(runs) < 2:
        raise NotEnoughDataError("PTA-IRT needs at least 2 verdicts to train on")
    outcomes = passes[runs, questions] / trials[runs, questions]
    shuffled = rng.permutation(len(runs))
    n_held_out = max(1, round(VALIDATION_SHARE * len(runs)))
    held_out, kept = shuffled[:n_held_out], shuffled[n_held_out:]
    abilities, items = Network.drawn(m, 1, rng), Network.drawn(n, 4, rng)
    adam = _Adam.on(abilities.parameters() + items.parameters())
    validation = (runs[held_out], questions[held_out], outcomes[held_out])
    best = (-1.0, _student(abilities, items, m, n))
    n_idle = 0
    for _ in range(N_EPOCHS):
        for batch in _batches(rng.permutation(kept)):
            adam.step(
                _gradients(abilities, items, (runs[batch], questions[batch], outcomes[batch]))
            )
        student = _student(abilities, items, m, n)
        f1 = _f1(student, validation)
        n_idle = 0 if f1 > best[0] else n_idle + 1
        best = (f1, student) if f1 > best[0] else best
        if n_idle >= PATIENCE:
            break
    return best[1]


def _batches(cells: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return np.split(cells, range(BATCH, len(cells), BATCH))


def _gradients(abilities: Network, items: Network, cells: Cells) -> list[Floats]:
    runs, questions, outcomes = cells
    hidden_runs, hidden_items = abilities.hidden(runs), items.hidden(questions)
    ability = (hidden_runs @ abilities.w2 + abilities.b2)[:, 0]
    by_raw, by_ability = entropy_gradients(hidden_items @ items.w2 + items.b2, ability, outcomes)
    return [
        *abilities.gradients(runs, hidden_runs, by_ability[:, np.newaxis]),
        *items.gradients(questions, hidden_items, by_raw),
    ]


def _student(abilities: Network, items: Network, m: int, n: int) -> PtaStudent:
    return PtaStudent(
        bank=bank_of(items.outputs(np.arange(n))), ability=abilities.outputs(np.arange(m))[:, 0]
    )


def _f1(student: PtaStudent, cells: Cells) -> float:
    runs, questions, outcomes = cells
    p = student.bank.probability(student.ability[:, np.newaxis])[runs, questions]
    said, true = p >= 0.5, outcomes >= 0.5
    total = int(said.sum()) + int(true.sum())
    return 2.0 * int((said & true).sum()) / total if total else 0.0


@dataclass(slots=True, kw_only=True)
class _Adam:
    """Adam with weight decay added to the gradient."""

    parameters: list[Floats]
    first: list[Floats]
    second: list[Floats]
    n_steps: int

    @classmethod
    def on(cls, parameters: list[Floats]) -> "_Adam":
        zeros = [np.zeros_like(p) for p in parameters]
        return cls(parameters=parameters, first=zeros, second=[z.copy() for z in zeros], n_steps=0)

    def step(self, gradients: list[Floats]) -> None:
        self.n_steps += 1
        rate = LEARNING_RATE / (1.0 - _DECAY_1**self.n_steps)
        unbias = 1.0 - _DECAY_2**self.n_steps
        for p, g, v, w in zip(self.parameters, gradients, self.first, self.second, strict=True):
            g += WEIGHT_DECAY * p
            v *= _DECAY_1
            v += (1.0 - _DECAY_1) * g
            w *= _DECAY_2
            w += (1.0 - _DECAY_2) * g * g
            p -= rate * v / (np.sqrt(w / unbias) + _TINY)
