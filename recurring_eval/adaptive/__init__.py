"""Adaptive runs: each question is chosen in the light of the verdicts before it."""

from recurring_eval.adaptive.questions import AdaptiveEstimates, AskableQuestions
from recurring_eval.adaptive.replay import ReplayedSessions, replay_sessions
from recurring_eval.adaptive.rules import RULES, AdaptiveRule, questions_for, rule_named
from recurring_eval.adaptive.session import (
    Outcome,
    Session,
    run_session,
    start_session,
)
from recurring_eval.adaptive.session_estimate import SessionEstimate

__all__ = [
    "RULES",
    "AdaptiveEstimates",
    "AdaptiveRule",
    "AskableQuestions",
    "Outcome",
    "ReplayedSessions",
    "Session",
    "SessionEstimate",
    "questions_for",
    "replay_sessions",
    "rule_named",
    "run_session",
    "start_session",
]
