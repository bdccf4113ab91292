"""The generated table of the ranking's signals."""

from pathlib import Path

from streams.search.options import SearchOptions
from streams.search.ranking.signals import SIGNALS, Signal

_DECISIONS = Path(__file__).resolve().parents[1] / "decisions"


def signals_table() -> str:
    """The signals in Markdown, a row each, and the links of the rows."""
    rows = (
        f"| `{one.name}` | {one.source} | {_coefficient(one)} | [{one.decision}] | [{Path(one.test).stem}] |"
        for one in SIGNALS
    )
    links = sorted({f"[{one.decision}]: ../decisions/{_page(one)}" for one in SIGNALS})
    links += sorted({f"[{Path(one.test).stem}]: ../../tests/{one.test}" for one in SIGNALS})
    return "\n".join(
        ("", "| signal | value | coefficient | why | test |", "|---|---|---:|---|---|", *rows, "", *links, "")
    )


def _coefficient(signal: Signal) -> str:
    """The default of the coefficient; empty for meaning, whose weight is the model's."""
    value = getattr(SearchOptions(), signal.coefficient) if signal.coefficient else None
    return "" if value is None else f"{value:g}"


def _page(signal: Signal) -> str:
    (page,) = _DECISIONS.glob(f"{signal.decision}-*.md")
    return page.name
