"""Links between pages: ranks of hosts, and the texts of links as a field of retrieval."""
