"""Named methods: a way of choosing questions paired with an estimator."""

from recurring_eval.methods.estimate import LEVEL, estimate_score
from recurring_eval.methods.evidence import Evidence, aligned_weights, gather_evidence
from recurring_eval.methods.method import Method
from recurring_eval.methods.prepared import (
    MethodEstimates,
    PreparedMethod,
    PrepareMethod,
    ReplayMethod,
)
from recurring_eval.methods.registry import METHODS, method_named
from recurring_eval.methods.replay_methods import REPLAY_METHODS, replay_method_named

__all__ = [
    "LEVEL",
    "METHODS",
    "REPLAY_METHODS",
    "Evidence",
    "Method",
    "MethodEstimates",
    "PrepareMethod",
    "PreparedMethod",
    "ReplayMethod",
    "aligned_weights",
    "estimate_score",
    "gather_evidence",
    "method_named",
    "replay_method_named",
]
