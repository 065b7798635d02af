"""One reader per evaluation tool: its logs in, run logs out."""
