"""HTML pages and charts: plain context in, text out."""
