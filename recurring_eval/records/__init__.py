"""Records that every layer shares: runs, verdicts, subsets and estimates."""

from recurring_eval.records.bank import Bank, Subset
from recurring_eval.records.estimate import (
    AbilityEstimate,
    Flag,
    HsprDiagnostics,
    ReplayResidual,
    ScoreDistribution,
    ScoreEstimate,
    Scores,
)
from recurring_eval.records.run import (
    FAIL,
    FULL_RUN_MIN_VALID,
    MISSING,
    PASS,
    Run,
    RunKind,
    RunLog,
    RunPurpose,
    ScoredRun,
)

__all__ = [
    "FAIL",
    "FULL_RUN_MIN_VALID",
    "MISSING",
    "PASS",
    "AbilityEstimate",
    "Bank",
    "Flag",
    "HsprDiagnostics",
    "ReplayResidual",
    "Run",
    "RunKind",
    "RunLog",
    "RunPurpose",
    "ScoreDistribution",
    "ScoreEstimate",
    "ScoredRun",
    "Scores",
    "Subset",
]
