"""Where estimates by HSPR come from, as a nightly page shows it."""

from dataclasses import dataclass
from datetime import datetime

from reports.checks import check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprEstimate:
    """How far one estimate can be trusted numerically.

    Attributes
    ----------
    at : datetime
        Start of the run.
    effective_sample_size : float
        Effective number of the posterior's nodes as a share of all.
    asked_source_zero_share : float
        Share of the answered questions that no source ever passed.
    shift_pp : float
        What calibration added to the posterior's median.
    extrapolating : bool
        Whether the run is better or worse than every source.
    """

    run_key: str
    at: datetime
    k: int
    effective_sample_size: float
    asked_source_zero_share: float
    shift_pp: float
    extrapolating: bool = False

    def __post_init__(self) -> None:
        check_fields(self, shares=("effective_sample_size", "asked_source_zero_share"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HsprSources:
    """Tonight's sources and configuration.

    Attributes
    ----------
    configuration : str
        Name of the configuration, or of the settings it averages.
    n_sources, n_groups : int
        Full runs that tell questions apart, and groups of questions they do not.
    source_zero_share : float
        Share of the bank's questions that no source ever passed.
    n_held_out : int
        Sources on which the configuration was chosen; 0 where none had to be.
    selection_mae_pp : float or None
        Mean error of the chosen configuration on them.
    estimates : tuple of HsprEstimate
        The latest ones.
    """

    configuration: str
    n_sources: int
    n_groups: int
    source_zero_share: float
    n_held_out: int = 0
    selection_mae_pp: float | None = None
    estimates: tuple[HsprEstimate, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, shares=("source_zero_share",))
