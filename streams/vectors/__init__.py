"""Statements as vectors: by meaning and by words, and their way into the index."""
