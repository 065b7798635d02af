"""Reading the trials of Harbor."""
