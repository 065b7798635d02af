"""Maintenance of a history: setting one up, status, check-up, backups."""
