"""The history as a file: opening, locking, commits, damage, backups, migrations."""
