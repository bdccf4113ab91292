"""Structured data of a page: JSON-LD, microdata, RDFa, OpenGraph and Twitter cards, read from the one parse.

All end in the same form: items with a `type` (schema.org's name) and properties whose values are texts, numbers,
items or lists of them, cut to what a search engine can use. `extruct` does more of RDF and parses the page once per
syntax; see docs/decisions.
"""

import html
import re
from collections.abc import Iterator
from typing import Any

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

Item = dict[str, Any]
MAX_DEPTH = 6
MAX_ITEMS = 50
MAX_PROPERTIES = 60
MAX_TEXT_CHARS = 1_000
MAX_SCRIPT_CHARS = 500_000
_DROPPED = frozenset(
    {"@context", "@id", "articleBody", "text", "potentialAction", "review", "comment", "breadcrumb", "isPartOf"}
)
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_COMMENT = re.compile(
    r"^\s*(?:<!--|//<!\[CDATA\[|/\*<!\[CDATA\[\*/|<!\[CDATA\[)|(?:-->|//\]\]>|/\*\]\]>\*/|\]\]>)\s*;?\s*$"
)
_CONTROL = re.compile("[\x00-\x1f]")
_VALUE_ATTRIBUTES = ("content", "datetime", "href", "src", "value")


def json_ld(scripts: list[tuple[str, str]]) -> list[Item]:
    """Items of all JSON-LD scripts (type, text), graphs unfolded, references by @id put in place. What is not JSON is
    left out."""
    roots: list[Any] = []
    for kind, text in scripts:
        if kind.startswith("application/ld+json"):
            roots.append(_loaded(text))
    items = list(_unfolded(roots, 0))
    known = {item["@id"]: item for item in items if isinstance(item.get("@id"), str) and len(item) > 1}
    return [_pruned(item, known, 0) for item in items[:MAX_ITEMS]]


def _loaded(text: str) -> Any:
    text = text[:MAX_SCRIPT_CHARS].strip()
    if text[:1] in "/<" or text[-1:] in ">/;":
        text = _COMMENT.sub("", text)
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", _CONTROL.sub(" ", text))):
        try:
            return orjson.loads(attempt.encode("utf-8", "replace"))
        except (orjson.JSONDecodeError, RecursionError):
            continue
    return None


def _unfolded(value: Any, depth: int) -> Iterator[Item]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for inner in value:
            yield from _unfolded(inner, depth + 1)
    elif isinstance(value, dict):
        if "@type" in value or "type" in value:
            yield value
        yield from _unfolded(value.get("@graph"), depth + 1)
        yield from _unfolded(value.get("mainEntity"), depth + 1)


def _pruned(value: Any, known: dict[str, Item], depth: int) -> Any:
    if isinstance(value, str):
        return " ".join(html.unescape(value).split())[:MAX_TEXT_CHARS]
    if isinstance(value, bool | float | int) or value is None:
        return value
    if depth >= MAX_DEPTH:
        return ""
    if isinstance(value, list):
        return [_pruned(inner, known, depth + 1) for inner in value[:MAX_ITEMS]]
    reference = value.get("@id")
    if len(value) <= 2 and reference in known and depth:
        value = known[reference]
    made: Item = {}
    for name, inner in list(value.items())[:MAX_PROPERTIES]:
        if not isinstance(name, str) or name in _DROPPED or inner in ("", None, [], {}):
            continue
        if name == "@type":
            made["type"] = _type_name(inner)
        elif name == "@value":
            return _pruned(inner, known, depth + 1)
        elif not name.startswith("@"):
            made[name] = _pruned(inner, known, depth + 1)
    return made


def _type_name(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return str(value).rstrip("/").rpartition("/")[2].rpartition(":")[2][:100]


def microdata(tree: LexborHTMLParser) -> list[Item]:
    """Items by itemscope and itemprop (HTML Standard, section 5)."""
    return _annotated(tree, "[itemscope]", "itemtype", "[itemprop]", "itemprop", "itemscope")


def rdfa(tree: LexborHTMLParser) -> list[Item]:
    """Items by typeof and property (RDFa Lite 1.1), which is what pages use of RDFa."""
    return _annotated(tree, "[typeof]", "typeof", "[typeof] [property]", "property", "typeof")


def _annotated(
    tree: LexborHTMLParser,
    item_selector: str,
    type_attribute: str,
    property_selector: str,
    name_attribute: str,
    scope: str,
) -> list[Item]:
    items: dict[int, Item] = {}
    for node in tree.css(item_selector)[: MAX_ITEMS * 4]:
        items[node.mem_id] = {"type": _type_name((node.attributes.get(type_attribute) or "").split(" ")[0])}
    nested: set[int] = set()
    for node in tree.css(property_selector)[: MAX_ITEMS * MAX_PROPERTIES]:
        owner = node.parent
        while owner is not None and owner.mem_id not in items:
            owner = owner.parent
        if owner is None:
            continue
        inner = items.get(node.mem_id) if scope in node.attributes else None
        if inner is not None:
            nested.add(node.mem_id)
        value: Any = inner if inner is not None else _node_value(node)
        if value:
            for name in (node.attributes.get(name_attribute) or "").split():
                _put(items[owner.mem_id], name.rpartition(":")[2], value)
    found = [item for key, item in items.items() if key not in nested and len(item) > 1 and item["type"]]
    return [_pruned(item, {}, 0) for item in found[:MAX_ITEMS]]


def _put(item: Item, name: str, value: Any) -> None:
    if name in _DROPPED or name == "type" or len(item) > MAX_PROPERTIES:
        return
    known = item.get(name)
    if known is None:
        item[name] = value
    elif isinstance(known, list):
        known.append(value)
    elif known != value:
        item[name] = [known, value]


def _node_value(node: LexborNode) -> str:
    attributes = node.attributes
    for name in _VALUE_ATTRIBUTES:
        if (value := attributes.get(name)) and not (name == "href" and node.tag == "a" and node.text().strip()):
            return " ".join(value.split())[:MAX_TEXT_CHARS]
    return " ".join(node.text().split())[:MAX_TEXT_CHARS]


def card(metas: list[tuple[str, str]], prefix: str) -> dict[str, str]:
    """The first value of each `og:...` or `twitter:...` property."""
    found: dict[str, str] = {}
    for name, content in metas:
        if name.startswith(prefix) and len(found) < MAX_PROPERTIES:
            found.setdefault(name[len(prefix) :], content[:MAX_TEXT_CHARS])
    return found


def items_of(items: list[Item], *types: str) -> list[Item]:
    """Those whose type ends so: `Article` finds NewsArticle, too."""
    return [item for item in items if str(item.get("type", "")).endswith(types)]


def texts(value: Any) -> list[str]:
    """A property's values as texts; an item gives its name."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, dict):
        return texts(value.get("name") or value.get("url") or "")
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return []
