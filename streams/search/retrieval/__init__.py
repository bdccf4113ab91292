"""From a request to the two lists of statements: the query's vectors, and how much of the index is read."""
