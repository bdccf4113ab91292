"""Webhooks: programs hear over HTTP which pages became searchable, and which were removed."""
