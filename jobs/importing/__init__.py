"""From the files of a user to runs in the history."""
