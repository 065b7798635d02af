"""What the HTML reports show, read from the history."""
