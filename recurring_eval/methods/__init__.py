"""Named methods: a way of choosing questions paired with an estimator.

Those that replays compare are in `replay_methods`, not imported here: their learners take
half a second to load, which every command would pay.
"""

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

__all__ = [
    "LEVEL",
    "METHODS",
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
]
