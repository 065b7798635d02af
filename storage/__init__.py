"""The history of verdicts in DuckDB: the only package that speaks SQL."""
