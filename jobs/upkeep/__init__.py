"""Looking after a history: start, status, check, back up."""
