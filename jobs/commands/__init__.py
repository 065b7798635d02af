"""The command line: one file per command, and one for those that maintain the history."""
