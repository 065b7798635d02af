"""Long tables: CSV, JSON lines and Parquet with one row per run, question and trial."""
