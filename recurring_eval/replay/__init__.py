"""TODO replay."""
