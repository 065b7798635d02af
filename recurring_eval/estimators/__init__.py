"""TODO estimators."""
