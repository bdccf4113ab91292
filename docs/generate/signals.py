"""The generated table of the ranking's signals."""

from pathlib import Path

from streams.search.options import SearchOptions
from streams.search.ranking.signals import SIGNALS, Signal

_DECISIONS = Path(__file__).resolve().parents[1] / "decisions"


def signals_table() -> str:
    """The signals in Markdown, a row each."""
    rows = (
        f"| `{one.name}` | {one.source} | {_coefficient(one)} | {_why(one)} | [test](../../tests/{one.test}) |"
        for one in SIGNALS
    )
    return "\n".join(("", "| signal | value | coefficient | why | test |", "|---|---|---:|---|---|", *rows, ""))


def _coefficient(signal: Signal) -> str:
    """The default of the coefficient. That of meaning is the model's."""
    value = getattr(SearchOptions(), signal.coefficient) if signal.coefficient else None
    return "" if value is None else f"{value:g}"


def _why(signal: Signal) -> str:
    (page,) = _DECISIONS.glob(f"{signal.decision}-*.md")
    return f"[{signal.decision}](../decisions/{page.name})"
