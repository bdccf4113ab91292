"""Searches: their time, the order of results, suggestions, and test collections."""
