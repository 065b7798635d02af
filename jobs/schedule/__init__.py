"""What is due when, the ledger of what was done, and full runs and folders looked after."""
