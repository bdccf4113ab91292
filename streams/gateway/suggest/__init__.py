"""Suggestions while people type: the memory of a gateway, and the routes for programs, browsers and the page."""
