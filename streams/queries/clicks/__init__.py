"""Clicks on the results of counted queries: what was shown and clicked, and what follows from it."""
