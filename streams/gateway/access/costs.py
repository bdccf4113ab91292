"""The cost of a request in work units, by what it asks the index and the models for. Pure.

One unit is a first page of a plain query. The tenth page takes 1.6 times its CPU time (docs/reference/api.md), and a
request that reads a page of the web holds a connection for seconds.
"""

SEARCH = 1
DEPTH_RESULTS = 50
"""Number of results that one more work unit reaches."""
OPERATORS_FREE = 2
"""Number of operators that cost nothing more. Each further one costs a unit."""
RERANK = 1
"""A cross-encoder that reads the first results."""
PAGE = 1
"""The record of a page, or a part of its content."""
SIMILAR = 2
"""A search by the content of a page."""
FETCH = 10
"""A page that is fetched now."""
ANSWER = 20
"""An answer by a language model."""


def cost_of_search(page: int, per_page: int, operators: int, *, reranks: bool) -> int:
    """Return the work units of a search for a page of results, with this number of operators."""
    deeper = (page * per_page - 1) // DEPTH_RESULTS
    return SEARCH + deeper + max(0, operators - OPERATORS_FREE) + (RERANK if reranks else 0)
