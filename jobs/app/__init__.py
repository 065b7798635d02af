"""What every job stands on: settings, console, clock, and the benchmarks of a history."""
