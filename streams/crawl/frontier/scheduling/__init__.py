"""The time of each fetch: the order within a host, and the next visit of a page."""
