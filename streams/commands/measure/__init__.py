"""Commands that measure or compute: evaluations, plans."""
