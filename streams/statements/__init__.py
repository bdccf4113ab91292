"""Statements: sentences, and the context that each needs to be understood alone."""
