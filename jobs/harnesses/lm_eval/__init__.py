"""Samples of the LM Evaluation Harness."""
