"""Records that every layer shares: runs, verdicts, subsets and estimates."""

from recurring_eval.records.ability_estimate import AbilityEstimate
from recurring_eval.records.bank import Bank
from recurring_eval.records.hspr_diagnostics import HsprDiagnostics
from recurring_eval.records.run import (
    FAIL,
    FULL_RUN_MIN_VALID,
    MISSING,
    PASS,
    Run,
    RunKind,
    RunLog,
    RunPurpose,
)
from recurring_eval.records.score_distribution import ScoreDistribution
from recurring_eval.records.score_estimate import Flag, ScoreEstimate
from recurring_eval.records.subset import Subset

__all__ = [
    "FAIL",
    "FULL_RUN_MIN_VALID",
    "MISSING",
    "PASS",
    "AbilityEstimate",
    "Bank",
    "Flag",
    "HsprDiagnostics",
    "Run",
    "RunKind",
    "RunLog",
    "RunPurpose",
    "ScoreDistribution",
    "ScoreEstimate",
    "Subset",
]
