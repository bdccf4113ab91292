"""Commands of the local stack: start and stop it, show its state, and demonstrate it."""
