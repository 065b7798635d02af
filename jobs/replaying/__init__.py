"""`replay`: methods compared on past runs."""
