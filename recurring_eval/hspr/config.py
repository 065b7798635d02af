"""Settings of hierarchical score posterior recovery (HSPR)."""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from recurring_eval.errors import InputError

Acquisition = Literal["score", "latent"]

ABILITY_PRECISION: Final = 0.25
"""Precision of the scalar ability when there are residual coordinates (Appendix A)."""

MAX_RANK: Final = 8
"""At most this many residual directions are computed (Appendix A)."""

N_NODES: Final = 8192
"""Nodes of the posterior (Appendix A)."""

REFRESH_EVERY: Final = 8
"""Observed outcomes between two proposals (Appendix A)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentPrior:
    """Rank of the residual factors and the precision of the latent state.

    Attributes
    ----------
    rank : int
        Residual coordinates, 0 to `MAX_RANK`.
    precision : float
        Of each residual coordinate; of the ability when ``rank == 0``.
    """

    rank: int
    precision: float

    def __post_init__(self) -> None:
        if not 0 <= self.rank <= MAX_RANK:
            raise InputError(f"`rank` is {self.rank}; choose one between 0 and {MAX_RANK}")
        if not (math.isfinite(self.precision) and self.precision > 0):
            raise InputError(f"`precision` is {self.precision}; it must be positive")

    @property
    def n_coordinates(self) -> int:
        """Ability and residual coordinates."""
        return 1 + self.rank

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """Diagonal of the prior precision P, shape (1 + rank,)."""
        if self.rank == 0:
            return np.array([self.precision])
        return np.array([ABILITY_PRECISION] + [self.precision] * self.rank)

    @property
    def name(self) -> str:
        """Short name such as ``r2g4``."""
        return f"r{self.rank}g{self.precision:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprConfig:
    """What HSPR needs beside the fitted sources.

    With several `latent` priors the posterior is the union of their nodes, each
    weighted by its evidence (``hspr-average``); with one it is the paper's.

    Attributes
    ----------
    latent : tuple of LatentPrior
    kappa : float
        Group concentration; ``math.inf`` removes the group rates' own uncertainty
        (the ablation without hierarchy, and the global stage of the selection).
    lambda_ : float
        Strength of the final calibration, equation (16).
    acquisition : {"score", "latent"}
    n_nodes : int
        Nodes in all, a power of two; shared equally by the latent priors.
    path_nodes : int or None
        Nodes while questions are chosen, if fewer; the final posterior then gets
        a proposal of its own with `n_nodes`.
    refresh_every : int
        Observed outcomes between two proposals.
    decision : {"median", "mean"}
    double_precision : bool
        Keep the nodes' rates in double precision. Single precision chooses the same
        questions, because near-ties are decided in double precision.
    """

    latent: tuple[LatentPrior, ...]
    kappa: float = 1.0
    lambda_: float = 0.5
    acquisition: Acquisition = "score"
    n_nodes: int = N_NODES
    path_nodes: int | None = None
    refresh_every: int = REFRESH_EVERY
    decision: Literal["median", "mean"] = "median"
    double_precision: bool = False

    def __post_init__(self) -> None:
        if not self.latent:
            raise InputError("`latent` is empty; give at least one latent prior")
        if not self.kappa > 0:
            raise InputError(f"`kappa` is {self.kappa}; it must be positive")
        if not 0.0 <= self.lambda_ <= 1.0:
            raise InputError(f"`lambda_` is {self.lambda_}; choose a value between 0 and 1")
        if self.acquisition not in ("score", "latent"):
            raise InputError(f"`acquisition` is {self.acquisition!r}, not 'score' or 'latent'")
        if self.acquisition == "latent" and len(self.latent) > 1:
            raise InputError("latent acquisition needs exactly one latent prior; use 'score'")
        if self.decision not in ("median", "mean"):
            raise InputError(f"`decision` is {self.decision!r}, not 'median' or 'mean'")
        if self.refresh_every < 1:
            raise InputError(f"`refresh_every` is {self.refresh_every}; it must be 1 or more")
        for count in (self.n_nodes, self.path_nodes):
            if count is not None:
                self._check_nodes(count)

    def _check_nodes(self, count: int) -> None:
        each = count // len(self.latent)
        if each < 1 or each * len(self.latent) != count or each & (each - 1):
            raise InputError(
                f"{count} nodes shared by {len(self.latent)} latent priors do not give each "
                "a power of two"
            )

    @property
    def hierarchical(self) -> bool:
        """Whether group rates have an uncertainty of their own."""
        return math.isfinite(self.kappa)

    @property
    def name(self) -> str:
        """Short name such as ``r2g4-kappa1-score-lambda0.5``.

        Rank and precision of each latent prior, concentration, acquisition, calibration.
        """
        latent = "+".join(prior.name for prior in self.latent)
        return f"{latent}-kappa{self.kappa:g}-{self.acquisition}-lambda{self.lambda_:g}"


AVERAGE: Final = HsprConfig(
    latent=tuple(LatentPrior(rank=MAX_RANK, precision=precision) for precision in (4.0, 8.0)),
    kappa=4.0,
    lambda_=0.25,
)
"""``hspr-average``: no selection. Every residual direction under the two stronger published
precisions, weighted by evidence, and the mean of the published strengths of calibration."""
