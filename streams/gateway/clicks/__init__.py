"""Clicks on results: links over `/act`, each of which sends one event and leads on.

Off unless the operator wants it."""
