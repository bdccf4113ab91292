"""Anchors, the link graph and authority. Not built yet: the event links.found, which it will read, is sent already."""
