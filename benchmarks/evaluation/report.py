"""The figures of `python -m benchmarks eval`, for people."""

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


def render_all(result: Mapping[str, Any], out: Console) -> None:
    """Print nDCG@10 of each collection, and what each part of the ranking gains there."""
    sets, mean = result["sets"], result["mean"]
    systems = list(mean["ndcg@10"])
    quality = _columns("nDCG@10", "queries", *systems, "over the best list")
    for name, found in {**sets, "mean": mean}.items():
        figures = (f"{found['ndcg@10'][system]:.3f}" for system in systems)
        quality.add_row(name, str(found.get("queries", "")), *figures, _signed(found["over_best_list"]))
    out.print(f"model {result['model']}; ± is the standard error of the paired difference", highlight=False)
    out.print(quality)
    rows = {**sets, "mean": mean}
    if result["judged"]:
        rows["mean of judged sets"] = result["judged"]
    parts = _columns("gain of each part", *mean["parts"])
    left_out = _columns("gain, the set left out of the choice", *mean["left_out"])
    for name, found in rows.items():
        parts.add_row(name, *(_signed(gain) for gain in found["parts"].values()))
        left_out.add_row(name, *(_signed(gain) for gain in found["left_out"].values()))
    least = (f"{found['mean']:+.4f} without {found['left_out']}" if found else "" for found in result["least"].values())
    parts.add_row("least, one set left out", *least)
    out.print(parts)
    if mean["left_out"]:
        out.print(left_out)


def render_confidence(result: Mapping[str, Any], out: Console) -> None:
    """Print the shares of lost queries and of confident nonsense, at the product's bound and at the others' choice."""
    keys = ("lost", "confident_nonsense", "confident_fresh", "confident_senseless")
    shown = [key.removeprefix("confident_") for key in keys]
    rows = _columns("confident results", "answered", *shown, "of index", *shown, "of others", *shown)
    for name, found in result["sets"].items():
        ways = [found, found.get("of_index", {}), found["chosen_by_others"]]
        shares = [[f"{way[key]:.2%}" if key in way else "-" for key in keys] for way in ways]
        bounds = [f"{way['bound']:.2f}" if "bound" in way else "-" for way in ways]
        rows.add_row(name, str(found["answered"]), *shares[0], bounds[1], *shares[1], bounds[2], *shares[2])
    bound = "none" if result["bound"] is None else f"{result['bound']:.2f}"
    out.print(
        f"model {result['model']}, bound {bound}; all would choose {result['chosen_by_all']:.2f}", highlight=False
    )
    out.print(rows)


def _signed(difference: Mapping[str, float]) -> str:
    return f"{difference['mean']:+.4f} ±{difference['error']:.4f}"


def _columns(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _table(title: str, rows: Mapping[str, Mapping[str, float]]) -> Table:
    table = _columns(title, *_COLUMNS)
    for name, figures in rows.items():
        table.add_row(name, *(f"{figures[column]:.3f}" for column in _COLUMNS))
    return table


def render_spelling(found: Mapping[str, Any], console: Console) -> None:
    """Print the figures of Riffle and of the other programs on one file of misspellings."""
    title = f"{found['pairs']:,} misspellings, {found['index_words']:,} words of the index"
    rows = Table("program", "top-1", "top-3", "false corrections", title=title)
    for name, figures in {"riffle": found, **found["others"]}.items():
        if isinstance(figures, str):
            rows.add_row(name, figures)
        else:
            rows.add_row(name, *(f"{figures[each]:.2%}" for each in ("top1", "top3", "false_corrections")))
    console.print(rows)
