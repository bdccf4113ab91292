"""Readers of topics that join no consumer group: of one topic up to its end, and of changes as they come."""
