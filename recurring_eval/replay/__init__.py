"""Methods replayed on past runs: what they would have said, and how far off."""
