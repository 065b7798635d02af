"""Calibrations, subsets, caches, estimates and checks."""
