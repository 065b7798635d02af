"""Results of promptfoo."""
