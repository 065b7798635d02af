"""Logs of Inspect AI: archives, JSON, verdicts and selections."""
