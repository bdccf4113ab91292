"""The figures of `riffle eval search` as tables for people."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_COLUMNS = ("ndcg@10", "recall@100", "mrr@10")


def render_search(result: Mapping[str, Any], out: Console) -> None:
    """Print the systems, the ablation and the times."""
    out.print(
        f"{result['collection']}: {result['documents']} documents, {result['statements']} statements, "
        f"{result['queries']} queries, model {result['model']}",
        highlight=False,
    )
    out.print(_table("", result["systems"]))
    if "ablation" in result:
        out.print(_table("what is indexed", result["ablation"]))
    out.print(f"a search takes {result['p50_ms']} ms (p50), {result['p95_ms']} ms (p95)", highlight=False)


def _table(title: str, rows: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(title)
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for name, figures in rows.items():
        table.add_row(name, *(f"{figures[column]:.3f}" for column in _COLUMNS))
    return table
