"""Commands of the local stack: start and stop it, look at it, show what it does."""
