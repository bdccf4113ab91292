"""Commands that measure or compute: the quality of answers, plans, a map."""
