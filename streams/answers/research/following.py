"""The ways on from a page for a part that is open: its links, what stands around a statement, similar pages. Pure.

A model chooses among them by number, in a request about this page only. Each leads to pages that the index has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from streams.answers.choices import named_in
from streams.answers.evidence import Evidence
from streams.answers.model_text import NONE
from streams.answers.prompts import Task
from streams.vectors.bm25 import query_words, statement_terms

FOLLOW = Task(
    "Question",
    "The page does not answer it. Which of these would? Write only its number. If none would, write NONE.",
    max_tokens=20,
)
MAX_LINKS = 5
"""Maximum links of a page among which the model chooses."""
MAX_AROUND = 2
"""Maximum statements of a page whose surroundings it may choose."""
WayKind = Literal["search", "link", "around", "similar"]


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page to another page of the index."""

    page_id: UUID
    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Way:
    """A read of the index that may find more for a part."""

    kind: WayKind
    asked: str
    """The query, the address of a page, or the statement, as it is shown."""
    page: UUID | None = None
    statement: Evidence | None = None


def ways_from(query: str, statements: Sequence[Evidence], links: Sequence[Link]) -> list[Way]:
    """Return the ways on from a page: the surroundings of its best statements, its links that share words with the
    query, the best first, and similar pages. `statements`: statements of the page, the best first."""
    asked = query_words(query)
    shares = {link: sum(not terms.isdisjoint(forms) for forms in asked) for link in links for terms in [_terms(link)]}
    best = sorted((link for link in links if shares[link]), key=lambda link: -shares[link])[:MAX_LINKS]
    page = statements[0]
    return [
        *(Way("around", each.text, each.page_id, each) for each in statements[:MAX_AROUND]),
        *(Way("link", link.url, link.page_id) for link in best),
        Way("similar", page.url, page.page_id, page),
    ]


def texts_of(ways: Sequence[Way], links: Sequence[Link]) -> list[str]:
    """Return each way as the model reads it: only texts of this page."""
    texts = {link.page_id: link.text for link in links}
    named = {"around": "more around: {}", "link": "the page behind its link: {}", "similar": "pages like this one"}
    return [
        named[way.kind].format(texts.get(way.page, "") if way.kind == "link" and way.page else way.asked)
        for way in ways
    ]


def chosen_way(text: str, ways: Sequence[Way]) -> Way | None:
    """Return the way that a model's text names. None: none would help. Without a number, the first one."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    if NONE.match(first):
        return None
    named = named_in(first, [("", "")] * len(ways))
    return ways[named[0][0]] if named else ways[0]


def _terms(link: Link) -> frozenset[int]:
    return statement_terms((link.text,))
