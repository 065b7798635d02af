"""Which job ran when, under whose lease, and what it raised."""
