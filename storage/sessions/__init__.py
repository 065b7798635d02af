"""Adaptive sessions and their steps."""
