"""Sentences: where they begin and end, their lengths, and which of them can be read alone.

The modules know nothing of documents: searches and answers use them, too.
"""
