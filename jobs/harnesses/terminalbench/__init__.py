"""Reading the trials of Terminal-Bench."""
