"""Adaptive sessions: an agent evaluated question by question."""
