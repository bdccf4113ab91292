"""The frontier's intake: one module per kind of input."""
