"""Queries themselves: checks that need no search, and the events of queries and clicks."""
