"""Makes the truth of a page: the items of its source that the page's text has.

An item that the page does not show is dropped and counted: the reader of the source misread it, or the generator left
it out. So a wrong truth needs an item that the source has, the page shows at the beginning of a line, and no reader
would call content.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Any

from lxml import html as lxml_html

from benchmarks.documents.generators.source import Source
from benchmarks.documents.looked_for import KINDS, MAX_WORDS, Shown, is_label, item_words, parse_html, text_of

MIN_ITEMS = 3
"""Minimum names and values of a page in the set."""
MIN_LINK_SHARE = 0.8
"""Minimum share of links in the text of a menu's item."""
_NAMES = (
    "//h1|//h2|//h3|//h4|//h5|//h6|//dt|//th|//tr/td[1]|//caption|//figcaption|//summary"
    "|//li/a[not(../text()[normalize-space()])]"
)
_VALUES = "//dd|//td[position()>1]|//li|//address"


def make_truth(html: bytes, source: Source, dropped: Counter[str]) -> dict[str, Any] | None:
    """Return the truth of a page, None if too few items of its source are shown."""
    root = parse_html(html)
    shown, known = Shown(text_of(root)), Shown(source.text)
    truth: dict[str, Any] = {"title": source.title}
    for kind in KINDS:
        items = list(_shown(getattr(source, kind), kind, shown))
        dropped[f"{kind} read"] += len(getattr(source, kind))
        dropped[f"{kind} kept"] += len(items)
        truth[kind] = items
    if len(truth["names"]) + len(truth["values"]) < MIN_ITEMS:
        return None
    for kind, path in (("names", _NAMES), ("values", _VALUES)):
        truth[f"other_{kind}"] = [] if source.is_index else list(_menu_items(root, path, kind, known))
    return {**truth, "source": source.text}


def _shown(items: Sequence[str], kind: str, shown: Shown) -> Iterator[str]:
    """Yield the items that the page shows, each at most as often as the page does."""
    times: Counter[tuple[str, ...]] = Counter()
    for item in items:
        words = tuple(item_words(item)[: MAX_WORDS[kind]])
        times[words] += 1
        if words and times[words] <= shown.count(list(words)):
            yield " ".join(item.split()) if kind != "code" else item


def _menu_items(root: lxml_html.HtmlElement, path: str, kind: str, known: Shown) -> Iterator[str]:
    """Yield the items of the page's markup that are links and that no source has, none twice.

    A foreign item that is no link may be a label of the generator above content, such as `Parameters`.
    """
    found = {tuple(item_words(text_of(one))[: MAX_WORDS[kind]]) for one in root.xpath(path) if _is_link(one)}
    for words in sorted(found):
        without_number = dropwhile(is_label, words)
        if words and not known.contains(list(without_number)):
            yield " ".join(words)


def _is_link(element: lxml_html.HtmlElement) -> bool:
    linked = sum(len(str(link.text_content())) for link in element.iter("a") if link.get("href"))
    return linked >= MIN_LINK_SHARE * len(str(element.text_content()).strip()) > 0
