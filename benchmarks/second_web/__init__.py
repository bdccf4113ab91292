"""A web that nothing was tuned to: five sets of documentation, 100 queries, and judgements of what they show."""
