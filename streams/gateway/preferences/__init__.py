"""Preferences of a person: in a signed cookie of the browser, never on the server."""
