"""What is due when, the attempts at it, full runs, watched folders and the alert."""
