"""Statements: sentences, each with the context that a reader needs to understand it alone."""
