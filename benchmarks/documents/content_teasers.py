# ruff: noqa: E501 - markup as pages have it
"""Pages with a list of other pages' headlines put after (or into, or before) their text, for the content model's training.

The training pages have few short articles with long lists of other stories, which the web has many of. Headlines and
summaries come from other training pages, the markup is made up. All is random by a given generator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from selectolax.lexbor import LexborHTMLParser, LexborNode

HEADINGS = (
    "More news", "Related stories", "Related articles", "You may also like", "Most read", "Latest", "Latest news", "Trending now",
    "Recommended for you", "Read next", "More from this section", "Popular posts", "Recent posts", "Don't miss", "In other news",
    "Editor's picks", "Top stories", "See also", "Mehr zum Thema", "Lire aussi", "Más noticias", "Leia também",
)  # fmt: skip
"""Headings above such a list. Half of the lists have none."""
BOXES = ("div", "div", "div", "section", "aside", "ul", "")
"""Elements around a list. A list without one stands beside the paragraphs."""
CLASSES = (
    "k", "c4", "x7", "row", "box", "list", "items", "grid", "block", "wrapper", "content-list", "cards", "css-1x9q", "col-12", "mod",
    "related", "more-news", "teasers", "post-list", "river", "feed", "",
)  # fmt: skip
ITEMS = (
    "<li><a href='{link}'>{headline}</a></li>",
    "<li><a href='{link}'>{headline}</a></li>",
    "<li><h3><a href='{link}'>{headline}</a></h3></li>",
    "<div class='{name}'><a href='{link}'>{headline}</a></div>",
    "<div class='{name}'><a href='{link}'><img src='{link}.jpg'></a><h3><a href='{link}'>{headline}</a></h3></div>",
    "<div class='{name}'><h3><a href='{link}'>{headline}</a></h3><p>{summary}</p></div>",
    "<div class='{name}'><h2><a href='{link}'>{headline}</a></h2><span>{date}</span><p>{summary}</p></div>",
    "<div class='{name}'><span>{date}</span><h4>{headline}</h4><p>{summary} <a href='{link}'>Read more</a></p></div>",
    "<article class='{name}'><h3><a href='{link}'>{headline}</a></h3><p>{summary}</p></article>",
    "<article><a href='{link}'><img src='{link}.jpg'><h3>{headline}</h3><p>{summary}</p></a></article>",
    "<h3><a href='{link}'>{headline}</a></h3>",
    "<h4><a href='{link}'>{headline}</a></h4><p>{summary}</p>",
    "<p><a href='{link}'>{headline}</a></p>",
    "<p><strong><a href='{link}'>{headline}</a></strong></p>",
)
"""Markup of one teaser. Three kinds have no link around the headline or a whole sentence outside of links."""
MONTHS = ("January", "March", "May", "July", "Sept.", "November")
MAX_LEVELS_UP = 5
"""Maximum number of elements around the page's last paragraph that the list is put after or into."""
MIN_HEADLINE_WORDS, MAX_HEADLINE_WORDS = 4, 20
MAX_SUMMARY_WORDS = 30


@dataclass(frozen=True, slots=True)
class Teaser:
    """The headline and the first words of a page's text."""

    headline: str
    summary: str


def teaser_of(title: str, text: str) -> Teaser | None:
    """The teaser of a page; None if its title is none that a list would show."""
    headline = max(title.replace(" – ", " | ").replace(" - ", " | ").split(" | "), key=len).strip()
    if not MIN_HEADLINE_WORDS <= len(headline.split()) <= MAX_HEADLINE_WORDS:
        return None
    lines = (line for line in text.splitlines() if len(line.split()) > MAX_SUMMARY_WORDS // 2 and line != headline)
    words = next(lines, "").split()[:MAX_SUMMARY_WORDS]
    ends = [at for at, word in enumerate(words, 1) if word.endswith((".", "!", "?")) and at >= MIN_HEADLINE_WORDS]
    return Teaser(headline, " ".join(words[: ends[-1] if ends else None]) + ("" if ends else "..."))


def list_of(teasers: Sequence[Teaser], random: np.random.Generator) -> str:
    """The markup of a list of `teasers`."""
    item = ITEMS[random.integers(len(ITEMS))]
    name, names = (CLASSES[random.integers(len(CLASSES))] for _ in range(2))
    date = f"{MONTHS[random.integers(len(MONTHS))]} {random.integers(1, 29)}, 20{random.integers(10, 26)}"
    written = "".join(
        item.format(
            link=f"/{at}/{len(teaser.headline)}",
            headline=escape(teaser.headline),
            summary=escape(teaser.summary),
            date=date,
            name=name,
        )
        for at, teaser in enumerate(teasers)
    )
    heading = ""
    if random.random() < 0.5:
        tag = ("h2", "h3", "h4", "p", "div")[random.integers(5)]
        heading = f"<{tag}>{escape(HEADINGS[random.integers(len(HEADINGS))])}</{tag}>"
    if item.startswith("<li>") and random.random() < 0.8:
        written = f"<ul class='{names}'>{written}</ul>"
    box = BOXES[random.integers(len(BOXES))]
    return f"<{box} class='{names}'>{heading}{written}</{box}>" if box else heading + written


def with_list(
    html: bytes, last: tuple[str, str], teasers: Sequence[Teaser], random: np.random.Generator
) -> bytes | None:
    """The page with a list of teasers after its text; None if its last paragraph isn't found.

    `last`: the element and the words of the text's last paragraph.
    """
    tree = LexborHTMLParser(html.decode("utf-8", "replace"))
    found = [node for node in tree.css(last[0]) if " ".join(node.text().split()) == last[1]]
    if not found or tree.body is None:
        return None
    _insert_after(found[-1], list_of(teasers, random), random)
    return (tree.html or "").encode("utf-8", "replace")


def _insert_after(paragraph: LexborNode, written: str, random: np.random.Generator) -> None:
    """Put the markup after the paragraph, or at the end of an element around it or after that."""
    around = [paragraph]
    while (
        len(around) <= MAX_LEVELS_UP and around[-1].parent is not None and around[-1].parent.tag not in ("body", "html")
    ):
        around.append(around[-1].parent)
    place = around[random.integers(len(around))]
    made = LexborHTMLParser(f"<body>{written}</body>").body
    nodes = list(made.iter()) if made is not None else []
    at_end = place is not paragraph and random.random() < 0.5
    for node in nodes if at_end else reversed(nodes):
        if at_end:
            place.insert_child(node)
        else:
            place.insert_after(node)
