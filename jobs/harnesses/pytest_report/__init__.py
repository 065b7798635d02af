"""Reading reports of pytest, and phrasing selections for it."""
