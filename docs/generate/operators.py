"""The generated table of the query's operators."""

from streams.search.query_language.operators import OPERATORS


def operators_table() -> str:
    """The operators in Markdown, a row each."""
    rows = (f"| {operator.examples} | {operator.meaning} |" for operator in OPERATORS)
    return "\n".join(("", "| operator | meaning |", "|---|---|", *rows, ""))
