"""Suggestions as people type: queries and texts of the index that begin with what was typed."""
