"""Backup and restore of all stores of an installation, as files that another installation can read."""
