"""The graph of links between hosts, and the authority of a host that follows from it."""
