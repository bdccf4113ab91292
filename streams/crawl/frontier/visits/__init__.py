"""Visits of the hosts that are due: what is fetched now."""
