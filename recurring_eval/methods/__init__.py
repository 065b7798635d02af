"""Named methods: a way of choosing questions paired with an estimator."""

from recurring_eval.methods.estimate import LEVEL, estimate_score
from recurring_eval.methods.evidence import Evidence, aligned_weights, gather_evidence
from recurring_eval.methods.method import Method
from recurring_eval.methods.registry import METHODS, method_named

__all__ = [
    "LEVEL",
    "METHODS",
    "Evidence",
    "Method",
    "aligned_weights",
    "estimate_score",
    "gather_evidence",
    "method_named",
]
