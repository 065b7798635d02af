"""The two small networks of PTA-IRT's student, and their gradients."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recurring_eval.baselines.four_pl import FourPl
from recurring_eval.irt import sigmoid

Floats = NDArray[np.float64]

N_HIDDEN: Final = 64
SMALLEST_SLOPE: Final = 0.1
LARGEST_LOWER: Final = 0.3


@dataclass(slots=True, kw_only=True)
class Network:
    """One hidden layer of ReLU on a one-hot input: ``relu(W1[i] + b1) @ W2 + b2``."""

    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats

    @classmethod
    def drawn(cls, n_inputs: int, n_outputs: int, rng: np.random.Generator) -> "Network":
        """Uniform start with the customary bound, the inverse root of the inputs."""
        first, second = n_inputs**-0.5, N_HIDDEN**-0.5
        return cls(
            w1=rng.uniform(-first, first, (n_inputs, N_HIDDEN)),
            b1=rng.uniform(-first, first, N_HIDDEN),
            w2=rng.uniform(-second, second, (N_HIDDEN, n_outputs)),
            b2=rng.uniform(-second, second, n_outputs),
        )

    def parameters(self) -> list[Floats]:
        """Return the arrays themselves, to be updated in place."""
        return [self.w1, self.b1, self.w2, self.b2]

    def hidden(self, which: NDArray[np.intp]) -> Floats:
        """Compute the hidden layer of the given inputs."""
        return np.maximum(self.w1[which] + self.b1, 0.0)

    def outputs(self, which: NDArray[np.intp]) -> Floats:
        """Compute the outputs of the given inputs."""
        return self.hidden(which) @ self.w2 + self.b2

    def gradients(self, which: NDArray[np.intp], hidden: Floats, by_output: Floats) -> list[Floats]:
        """Gradients in the order of `parameters`, from those by the outputs."""
        by_hidden = (by_output @ self.w2.T) * (hidden > 0)
        by_w1 = np.zeros_like(self.w1)
        np.add.at(by_w1, which, by_hidden)
        return [by_w1, by_hidden.sum(axis=0), hidden.T @ by_output, by_output.sum(axis=0)]


def bank_of(raw: Floats) -> FourPl:
    """4PL items from the item network's outputs (n, 4): b, a, c and d before their links."""
    location, slope, lower, upper = raw.T
    c = LARGEST_LOWER * sigmoid(lower)
    return FourPl(
        slope=np.logaddexp(0.0, slope) + SMALLEST_SLOPE,
        location=location,
        lower=c,
        upper=c + (1.0 - c) * sigmoid(upper),
    )


def entropy_gradients(raw: Floats, ability: Floats, outcomes: Floats) -> tuple[Floats, Floats]:
    """Gradients of the mean cross entropy by the raw items (t, 4) and the abilities (t,).

    Parameters
    ----------
    raw : ndarray, shape (t, 4)
        Outputs of the item network for t cells.
    ability, outcomes : ndarray, shape (t,)
    """
    bank = bank_of(raw)
    distance = ability - bank.location
    s = sigmoid(bank.slope * distance)
    p = np.clip(bank.lower + (bank.upper - bank.lower) * s, 1e-7, 1.0 - 1e-7)
    by_p = (p - outcomes) / (p * (1.0 - p) * len(outcomes))
    by_logit = by_p * (bank.upper - bank.lower) * s * (1.0 - s)
    gate_low, gate_high = sigmoid(raw[:, 2]), sigmoid(raw[:, 3])
    by_lower = by_p * ((1.0 - s) + s * (1.0 - gate_high))
    by_raw = np.stack(
        [
            -by_logit * bank.slope,
            by_logit * distance * sigmoid(raw[:, 1]),
            by_lower * LARGEST_LOWER * gate_low * (1.0 - gate_low),
            by_p * s * (1.0 - bank.lower) * gate_high * (1.0 - gate_high),
        ],
        axis=1,
    )
    return by_raw, by_logit * bank.slope
