"""Adaptive testing: each question is chosen in the light of the verdicts before it."""

from recurring_eval.adaptive.questions import (
    AskableQuestions,
    Choose,
    ReplayedSessions,
    askable_questions,
    estimate_scores,
    posterior_of,
    replay_sessions,
)
from recurring_eval.adaptive.rules import choose_by_information, choose_d_optimal

__all__ = [
    "AskableQuestions",
    "Choose",
    "ReplayedSessions",
    "askable_questions",
    "choose_by_information",
    "choose_d_optimal",
    "estimate_scores",
    "posterior_of",
    "replay_sessions",
]
