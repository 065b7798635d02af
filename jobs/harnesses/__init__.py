"""Readers of evaluation logs, one file per tool."""
