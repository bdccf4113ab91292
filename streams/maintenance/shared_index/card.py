"""The card of an index that is handed on: what it holds, for the people who get it. Pure.

Hosts, licences and languages are strangers' texts: they are shown as code, on one line, and shortened.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from schemas.envelope import utc_from_micros
from streams.maintenance.shared_index.layout import DESCRIPTION, Description
from streams.plain_text import clean_line, shorten
from streams.vectors.brought import Made

SHOWN = 30
"""Maximum number of hosts, licences and languages that are listed."""
MAX_CHARS = 100


@dataclass(slots=True)
class Counts:
    """The counts of pages for the card."""

    hosts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    wishes: Counter[str] = field(default_factory=Counter)
    private: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def card_of(index: Description, counts: Counts) -> str:
    """Return the card as Markdown."""
    hosts = ", ".join(_code(each) for each in index.hosts) if index.hosts else "all hosts of the installation"
    lines = [
        f"# {_code(index.name)}, an index of Riffle",
        "",
        f"{index.pages:,} pages with {index.statements:,} statements, and {index.removals:,} removals. "
        f"Made on {utc_from_micros(index.made):%Y-%m-%d %H:%M} UTC by {_code(index.made_by)}, of: {hosts}.",
        "",
        "## Take it",
        "",
        "    riffle import DIR",
        "",
        "DIR is this folder. Pages are as old as their fetch, so what you have fetched since stays. Vectors are taken "
        "where your embedding model is the one below, and are made anew elsewhere. Pages that you removed, and pages "
        f"that left the index after their fetch, are not taken. `{DESCRIPTION}` describes the files.",
        "",
        "## Embedding models",
        "",
        *_list(_model(made) for made in index.models),
        "",
        "## Rights",
        "",
        "Texts belong to their authors. The column `licence` is what a page states, and `directives` what its "
        "publisher asks for: `noai` and `ai-input=no` keep a text from models that answer people, `ai-train=no` from "
        "training. Whoever takes the files for something else has to heed them, too.",
        "",
        *_table("licence stated", counts.licences, index.pages),
        *_table("wish of the publisher", counts.wishes),
        *([f"{counts.private:,} pages are of private sites.", ""] if counts.private else ()),
        *_table("not in it, since", counts.left_out),
        "## Pages",
        "",
        *_table("host", counts.hosts, index.pages),
        *_table("language", counts.languages, index.pages),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _table(title: str, counts: Counter[str], total: int = 0) -> list[str]:
    """Return the rows of the most frequent values. `total`: the pages, of which the others have no value."""
    if not counts:
        return []
    shown = counts.most_common(SHOWN)
    rest = counts.total() - sum(count for _, count in shown)
    rows = [f"| {_code(value)} | {count:,} |" for value, count in shown]
    rows += [f"| others | {rest:,} |"] if rest else []
    rows += [f"| none | {total - counts.total():,} |"] if total > counts.total() else []
    return [f"| {title} | pages |", "|---|---:|", *rows, ""]


def _list(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines] or ["- none"]


def _model(made: Made) -> str:
    return f"{_code(made.model)}, version {_code(made.model_version)}: {made.dimensions} dimensions"


def _code(text: str) -> str:
    """Return a text as code of Markdown: a backtick would end it, and a bar would divide a cell."""
    line = shorten(clean_line(text), MAX_CHARS).replace("`", "'").replace("|", "/")
    return f"`{line or '-'}`"
