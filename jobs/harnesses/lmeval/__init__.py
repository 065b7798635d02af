"""Logs of lm-evaluation-harness: rows, verdicts and selections."""
