"""What every job needs: settings, console, clock, and the benchmarks it works on."""
