"""Adaptive runs: each question is chosen in the light of the verdicts before it."""

from recurring_eval.adaptive.estimate import AdaptiveEstimates
from recurring_eval.adaptive.questions import AskableQuestions, askable_questions
from recurring_eval.adaptive.replay import ReplayedSessions, replay_sessions
from recurring_eval.adaptive.rules import RULES, AdaptiveRule, rule_named
from recurring_eval.adaptive.session import (
    Outcome,
    Session,
    SessionEstimate,
    run_session,
    start_session,
)

__all__ = [
    "RULES",
    "AdaptiveEstimates",
    "AdaptiveRule",
    "AskableQuestions",
    "Outcome",
    "ReplayedSessions",
    "Session",
    "SessionEstimate",
    "askable_questions",
    "replay_sessions",
    "rule_named",
    "run_session",
    "start_session",
]
