"""Statistics of recurring benchmark runs: arrays and records in, frozen results out.

The package reads no files, clocks or environment and can be used as a library.
"""
