"""From a partial run to its full pass rate, and what full runs say of such estimates."""
