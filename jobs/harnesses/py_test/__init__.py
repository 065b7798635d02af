"""Reports of pytest."""
