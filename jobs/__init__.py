"""Composition: one file per job, the command line, and the scheduler."""
