"""Results of SWE-bench: reports, instances, leaderboard and selections."""
