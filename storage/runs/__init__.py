"""Benchmarks, runs and their verdicts."""
