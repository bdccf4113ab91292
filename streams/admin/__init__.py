"""The pages of operators, on a port of their own: what runs, what waits, what failed, and the actions to mend it."""
