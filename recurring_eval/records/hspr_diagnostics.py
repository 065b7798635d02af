"""How far an estimate by HSPR can be trusted, and where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprDiagnostics:
    """Numerical quality, support and configuration of an estimate by HSPR.

    Attributes
    ----------
    configuration : str
        Name of the configuration used.
    effective_sample_size : float
        Effective number of nodes as a share of all.
    n_nodes, n_groups, n_sources : int
    source_zero_share : float
        Share of the bank's questions that no source ever passed.
    queried_source_zero_share : float
        Share of the answered questions that no source ever passed.
    latent_weights : mapping of str to float
        Posterior weight of each latent prior; one entry of 1 without averaging.
    calibration : float
        What calibration added to the decision, in pass-rate units.
    extrapolating : bool
        The posterior mean lies outside the range of the sources' scores.
    """

    configuration: str
    effective_sample_size: float
    n_nodes: int
    n_groups: int
    n_sources: int
    source_zero_share: float
    queried_source_zero_share: float
    latent_weights: Mapping[str, float]
    calibration: float
    extrapolating: bool
