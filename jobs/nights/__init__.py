"""The nightly job: calibration, subsets and cache."""
