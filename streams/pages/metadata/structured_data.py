"""Structured data of a page: JSON-LD, microdata, RDFa, OpenGraph and Twitter cards, read from the one parse.

All end in the same form: items with a `type` (schema.org's name; `types` where there are several) and properties with
texts, numbers, items or lists of them as values, cut to a size that a search engine can use. The library extruct reads
more of RDF, but parses the page once for each syntax (docs/decisions/0012).
"""

import html
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.pages.metadata.items import Item, is_item, texts
from streams.pages.metadata.script_json import parse_json
from streams.pages.parse.head import Head, is_json_ld

MAX_DEPTH = 12
"""Maximum depth of items and lists. A recipe's section, step, direction and its text take eight levels."""
MAX_ITEMS = 50
MAX_PROPERTIES = 60
MAX_TEXT_CHARS = 1_000
MAX_RAW_CHARS = 8 * MAX_TEXT_CHARS
"""Maximum length of a text with its escapes and spaces."""
MAX_TYPE_CHARS = 100
MAX_READ_CHARS = 3_000_000
"""Maximum text that is read of annotated elements (characters). They may be inside each other."""
MAX_CHARS = 300_000
"""Maximum of all values of a page together: references can multiply a small script."""
MAX_OPINIONS = 5
"""Maximum number of reviews or comments of one item."""
VALUE_CHARS = 8
"""Number of characters that each value counts for in addition to its text."""
_DROPPED = frozenset({"@context", "@id", "@type", "type", "types", "potentialAction"})
_OPINIONS = frozenset({"review", "reviews", "comment", "comments"})
_DROPPED_OF_ARTICLES = _DROPPED | {"articleBody", "text"}
_ARTICLES = ("Article", "Posting", "Report")
_PAGES = frozenset({"isPartOf", "hasPart", "breadcrumb", "mainEntity", "mainEntityOfPage", "subjectOf"})
"""Properties with references that are left out: their targets are items of the page anyway."""
_ASKED = frozenset({"Question", "Answer"})
REPLIES = ("Review", "Comment", "Comments", "Answer")
"""Types of replies. Their authors and dates are not the page's."""
_DATES = ("datePublished", "dateCreated", "dateModified", "uploadDate")
OTHER_DATES = frozenset({
    "startDate", "endDate", "doorTime", "previousStartDate", "validFrom", "validThrough", "priceValidUntil",
    "availabilityStarts", "availabilityEnds", "expires", "birthDate", "deathDate", "foundingDate",
})  # fmt: skip
_URL_ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip
_TEXT_ATTRIBUTES = {"time": "datetime", "data": "value", "meter": "value"}
_MEANT_AS_TEXT = frozenset({
    "about", "address", "addressCountry", "addressLocality", "addressRegion", "alternateName", "alternativeHeadline",
    "articleBody", "articleSection", "author", "brand", "caption", "category", "contributor", "creator", "dateCreated",
    "dateModified", "datePublished", "description", "editor", "email", "genre", "headline", "ingredients", "jobTitle",
    "keywords", "name", "position", "postalCode", "price", "publisher", "recipeCategory", "recipeCuisine",
    "recipeIngredient", "reviewBody", "streetAddress", "telephone", "text", "title",
})  # fmt: skip
"""Properties that pages put on links and mean as text. By the letter of the standard their value is the URL."""
_WHOLE_NAMES = ("article:", "product:", "book:", "profile:")
_EMPTY: tuple[Any, ...] = ("", None, [], {})


class Structured:
    """Collects the items of one page."""

    def __init__(self, absolute: Callable[[str], str] = str) -> None:
        self.items: list[Item] = []
        self.others: set[str] = set()
        """Names and dates, as written, of reviews and events."""
        self.replies: set[str] = set()
        """Names and dates, as written, of comments and answers."""
        self._absolute = absolute
        self._left = MAX_CHARS
        self._known: dict[str, Item] = {}
        self._placed: set[str] = set()
        self._open: set[int] = set()

    def json_ld(self, scripts: list[tuple[str, str]]) -> None:
        """Read JSON-LD scripts (type, text), without broken ones. Graphs are unfolded, references by @id replaced."""
        self.graph([parse_json(text) for kind, text in scripts if is_json_ld(kind)])

    def graph(self, roots: list[Any]) -> None:
        """Read parsed JSON-LD."""
        items = list(_unfold(roots, 0))
        self._known = {item["@id"]: item for item in items if isinstance(item.get("@id"), str) and len(item) > 1}
        made = [(item, self._item(item, 0)) for item in items[:MAX_ITEMS]]
        self._known = {}
        self.items += [
            item
            for raw, item in made
            if is_item(item) and not (item["type"] in _ASKED and str(raw.get("@id")) in self._placed)
        ]

    def microdata(self, tree: LexborHTMLParser) -> None:
        """Read items by itemscope and itemprop (HTML Standard, section 5)."""
        self._read_annotated(tree, "[itemscope]", "itemtype", "[itemprop]", "itemprop", "itemscope")

    def rdfa(self, tree: LexborHTMLParser) -> None:
        """Read items by typeof and property (RDFa Lite 1.1). Pages hardly use other RDFa."""
        self._read_annotated(tree, "[typeof]", "typeof", "[typeof] [property]", "property", "typeof")

    def add_annotated(self, items: Iterable[Item]) -> None:
        """Add items of annotated elements: items with a type and properties, and such items inside untyped ones."""
        seen: set[int] = set()
        found = [inner for item in items for inner in _typed_items(item, seen, 0)]
        made_of = [self._item(item, 0) for item in found[:MAX_ITEMS]]
        self.items += [item for item in made_of if len(item) > 1]

    def _value(self, value: Any, depth: int, name: str = "") -> Any:
        """Return the kept form of a value; one of `_EMPTY` if nothing is kept."""
        if isinstance(value, str):
            return self._text(value)
        self._left -= VALUE_CHARS
        if self._left < 0:
            return None
        if not isinstance(value, list | dict):
            return value
        if depth > MAX_DEPTH:
            return None
        if isinstance(value, dict):
            return self._item(value, depth, name)
        most = MAX_OPINIONS if name in _OPINIONS else MAX_ITEMS
        for more in value[most:] if name in _OPINIONS else ():
            if isinstance(more, dict):
                of_reply = {key: self._value(more[key], MAX_DEPTH - 1) for key in ("author", *_DATES) if key in more}
                self._note(of_reply, _type_names(more))
        made = [self._value(inner, depth + 1, name) for inner in value[:most]]
        return [inner for inner in made if inner or inner not in _EMPTY]

    def _text(self, value: str) -> str:
        if self._left < 0:
            return ""
        value = value[:MAX_RAW_CHARS]
        text = " ".join((html.unescape(value) if "&" in value else value).split())[:MAX_TEXT_CHARS]
        self._left -= len(text) + VALUE_CHARS
        return text if self._left >= 0 else ""

    def _item(self, value: Item, depth: int, name: str = "") -> Any:
        reference = value.get("@id")
        if depth and len(value) <= 2 and isinstance(reference, str) and reference in self._known:
            target = self._known[reference]
            asked = not _ASKED.isdisjoint(_type_names(target))
            if name in _PAGES and not asked:
                return None
            self._placed.add(reference)
            value = target
        for wrapper in ("@value", "@list", "@set"):
            if wrapper in value:
                inner = value[wrapper]
                return None if isinstance(inner, dict) else self._value(inner, depth + 1, name)
        if id(value) in self._open:
            return None
        self._open.add(id(value))
        types = _type_names(value)
        made: Item = {"type": types[0]} if types else {}
        if len(types) > 1:
            made["types"] = types
        left_out = _DROPPED_OF_ARTICLES if any(kind.endswith(_ARTICLES) for kind in types) else _DROPPED
        for key, inner in islice(value.items(), MAX_PROPERTIES):
            if key not in left_out and not key.startswith("@"):
                kept = self._text(inner) if isinstance(inner, str) else self._value(inner, depth + 1, key)
                if kept or kept not in _EMPTY:
                    made[key] = kept
        self._open.discard(id(value))
        self._note(made, types)
        return made

    def _note(self, item: Item, types: list[str]) -> None:
        """Remember the names and dates of an item that are not the page's."""
        if any(kind.endswith(REPLIES) for kind in types):
            into = self.others if any(kind.endswith("Review") for kind in types) else self.replies
            for name in ("author", *_DATES):
                into.update(texts(item.get(name)))
        if not OTHER_DATES.isdisjoint(item):
            self.others.update(text for name in OTHER_DATES for text in texts(item.get(name)))

    def _read_annotated(
        self,
        tree: LexborHTMLParser,
        item_selector: str,
        type_attribute: str,
        property_selector: str,
        name_attribute: str,
        scope: str,
    ) -> None:
        items: dict[int, Item] = {}
        referred: dict[str, Item] = {}
        for node in tree.css(item_selector)[: MAX_ITEMS * 4]:
            attributes = node.attributes
            made = items[node.mem_id] = {"@type": (attributes.get(type_attribute) or "").split()}
            for name in (attributes.get("itemref") or "").split()[:MAX_ITEMS]:
                referred.setdefault(name, made)
        nested: set[int] = set()
        owners: dict[int, Item | None] = {}
        read = 0
        for node in tree.css(property_selector)[: MAX_ITEMS * MAX_PROPERTIES]:
            owner = _owner(node, items, referred, owners)
            if owner is None or read > MAX_READ_CHARS:
                continue
            attributes = node.attributes
            names = (attributes.get(name_attribute) or "").split()
            inner = items.get(node.mem_id) if scope in attributes else None
            if inner is not None:
                nested.add(node.mem_id)
            for name in names:
                name = local_name(name)
                value: Any = inner
                if inner is None:
                    value, chars = self._node_value(node, attributes, name)
                    read += chars
                if value:
                    add_value(owner, name, value)
                if name == "item" and inner is None and _has_only_text(node):
                    add_value(
                        owner, "name", " ".join(node.text().split())
                    )  # a crumb without another name than the link's
        self.add_annotated(item for key, item in items.items() if key not in nested)

    def _node_value(self, node: LexborNode, attributes: dict[str, str | None], name: str) -> tuple[str, int]:
        """Return the value of a property, and the number of characters read for it (HTML Standard, section 5.2.4).

        Unlike in the standard, `content` counts on every element, and words that are links stay words.
        """
        tag = node.tag or ""
        value = attributes.get("content") or attributes.get(_TEXT_ATTRIBUTES.get(tag, ""))
        href = attributes.get(_URL_ATTRIBUTES.get(tag, ""))
        text = "" if value or (href and not (tag == "a" and name in _MEANT_AS_TEXT)) else node.text()
        if href and not value and not text.strip():
            return (self._absolute(href) or href).strip()[:MAX_TEXT_CHARS], len(text)
        return " ".join((value or text).split())[:MAX_TEXT_CHARS], len(text)


def read_structured_data(tree: LexborHTMLParser, head: Head, absolute: Callable[[str], str]) -> Structured:
    """Read each syntax that the page has. `absolute` resolves a URL of the page."""
    data = Structured(absolute)
    data.json_ld(head.scripts)
    if head.has_microdata:
        data.microdata(tree)
    if head.has_rdfa:
        data.rdfa(tree)
    return data


def _unfold(value: Any, depth: int) -> Iterator[Item]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _unfold(inner, depth + 1)
    elif isinstance(value, dict):
        if _type_names(value) and "@value" not in value:
            yield value
        yield from _unfold(value.get("@graph"), depth + 1)


def _type_names(item: Item) -> list[str]:
    """Return schema.org's names of the item's types. `type` is another word for `@type`."""
    value = item["@type"] if "@type" in item else item.get("type")
    if isinstance(value, str):
        return [name] if (name := _type_name(value[:MAX_TYPE_CHARS])) else []
    if not isinstance(value, list):
        return []
    names = [_type_name(inner[:MAX_TYPE_CHARS]) for inner in value[:MAX_ITEMS] if isinstance(inner, str)]
    return list(dict.fromkeys(name for name in names if name))


@lru_cache(maxsize=1_000)
def _type_name(value: str) -> str:
    return value.strip().rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2]


def _owner(
    node: LexborNode, items: dict[int, Item], referred: dict[str, Item], known: dict[int, Item | None]
) -> Item | None:
    """Return the item of a property: the nearest item around it, or an item that refers to it (itemref).

    `known` caches the item of each element.
    """
    if referred and (found := referred.get(node.attributes.get("id") or "")) is not None:
        return found
    path: list[int] = []
    owner: Item | None = None
    around = node.parent
    while around is not None:
        place = around.mem_id
        if place in known:
            owner = known[place]
            break
        path.append(place)
        owner = items.get(place)
        if owner is None and referred:
            owner = referred.get(around.attributes.get("id") or "")
        if owner is not None:
            break
        around = around.parent
    known.update(dict.fromkeys(path, owner))
    return owner


def _has_only_text(node: LexborNode) -> bool:
    child = node.child
    return child is not None and child.tag == "-text" and child.next is None


def _typed_items(item: Item, seen: set[int], depth: int) -> Iterator[Item]:
    """Yield the item, or the typed items inside it if it has no type. Each item comes once."""
    if _type_names(item):
        if len(item) > 1:
            yield item
        return
    seen.add(id(item))
    for value in item.values() if depth < MAX_DEPTH else ():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and id(inner) not in seen:
                seen.add(id(inner))
                yield from _typed_items(inner, seen, depth + 1)


def local_name(name: str) -> str:
    """Return a property's name without its vocabulary: `name` of https://schema.org/name and schema:name."""
    return name.rpartition("/")[2].rpartition("#")[2].rpartition(":")[2]


def add_value(item: Item, name: str, value: Any) -> None:
    """Add a property, or one more value of it, to an item."""
    if not name or name in _DROPPED or name.startswith("@") or len(item) > MAX_PROPERTIES:
        return
    known = item.get(name)
    if known is None:
        item[name] = value
    elif isinstance(known, list):
        known.append(value)
    elif known is not value and (isinstance(known, dict) or known != value):
        item[name] = [known, value]


def card(metas: list[tuple[str, str]], prefix: str) -> dict[str, Any]:
    """Return the first value of each `og:...` or `twitter:...` property.

    OpenGraph also gives all values of the properties of its types (`article:tag`), by their whole names.
    """
    found: dict[str, Any] = {}
    for name, content in metas:
        if name.startswith(prefix) and len(found) < MAX_PROPERTIES:
            found.setdefault(name[len(prefix) :], content[:MAX_TEXT_CHARS])
        elif prefix == "og:" and name.startswith(_WHOLE_NAMES) and len(found) < MAX_PROPERTIES and content:
            known, content = found.setdefault(name, content[:MAX_TEXT_CHARS]), content[:MAX_TEXT_CHARS]
            if isinstance(known, list):
                if content not in known and len(known) < MAX_ITEMS:
                    known.append(content)
            elif known != content:
                found[name] = [known, content]
    return found
