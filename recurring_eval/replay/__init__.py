"""Methods replayed on a history: residuals, and gains of one subset over another."""

from recurring_eval.replay.cache_residuals import cache_residuals
from recurring_eval.replay.gain import ReplayGain, replay_gain_pp, replayed_gain
from recurring_eval.replay.hspr_split import hspr_split_residuals
from recurring_eval.replay.residuals import (
    ReplayResidual,
    conformal_scale,
    replay_runs,
    split_residuals,
)

__all__ = [
    "ReplayGain",
    "ReplayResidual",
    "cache_residuals",
    "conformal_scale",
    "hspr_split_residuals",
    "replay_gain_pp",
    "replay_runs",
    "replayed_gain",
    "split_residuals",
]
