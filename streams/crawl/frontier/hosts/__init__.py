"""Hosts of the frontier: the stored state of each one, and what this worker holds in memory."""
