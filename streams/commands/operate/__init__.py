"""Commands that run and maintain stages: in production each runs in a container of its own."""
