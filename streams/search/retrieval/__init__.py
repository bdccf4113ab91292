"""From a request to the two lists of statements: the query's vectors, and the length of the lists."""
