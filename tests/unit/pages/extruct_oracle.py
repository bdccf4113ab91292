"""Structured data as the library extruct reads it, in Riffle's normal form: the oracle of Riffle's own reader.

extruct reads the page as it came, menus included. A script or syntax that extruct fails at gives nothing.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import orjson
from extruct.jsonld import JsonLdExtractor
from extruct.rdfa import RDFaExtractor
from extruct.utils import parse_html, parse_xmldom_html
from extruct.w3cmicrodata import MicrodataExtractor

from streams.pages.metadata.items import Item
from streams.pages.metadata.structured_data import Structured, add_value, local_name
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.page import Parsed

_RDFA_OWN_VOCABULARY = "http://www.w3.org/ns/rdfa#"
Node = dict[str, Any]
_T = TypeVar("_T")


def read_with_extruct(parsed: Parsed, resolver: Resolver) -> Structured:
    """Read each syntax that the page has."""
    head, base, data = parsed.head, resolver.base, Structured(resolver.absolute)
    if not (head.has_json_ld or head.has_microdata or head.has_rdfa):
        return data
    tree = _tree(parsed.html, with_dom=head.has_rdfa)
    if tree is None:
        return data
    if head.has_json_ld:
        data.graph([_script(script) for script in tree.iter("script")])
    if head.has_microdata:
        found = _nothing_on_failure(lambda: MicrodataExtractor().extract_items(tree, base))
        data.add_annotated(_microdata_item(item) for item in _plain(found or []))
    if head.has_rdfa:
        found = _nothing_on_failure(lambda: RDFaExtractor().extract_items(tree, base))
        data.add_annotated(_rdfa_items(_plain(found or [])))
    return data


def _tree(html: str, *, with_dom: bool) -> Any:
    """Parse with lxml; None if lxml finds no element. RDFa needs the methods of a DOM."""
    parse = parse_xmldom_html if with_dom else parse_html
    written = html.replace("\0", "\ufffd").encode("utf-8", "replace")
    return _nothing_on_failure(lambda: parse(written, encoding="utf-8"))


def _script(script: Any) -> Any:
    return _nothing_on_failure(lambda: _plain(JsonLdExtractor().extract_items(script)))


def _plain(found: list[Any]) -> list[Any]:
    """Return the values as JSON can hold them: extruct lets through numbers of any size and lone surrogates."""
    made: list[Any] = orjson.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    return made


def _nothing_on_failure(work: Callable[[], _T]) -> _T | None:
    try:
        return work()
    except Exception:
        return None


def _microdata_item(found: Node) -> Item:
    item: Item = {"@type": found.get("type", "")}
    for name, values in found.get("properties", {}).items():
        for value in _listed(values):
            if kept := _microdata_value(value):
                add_value(item, local_name(name), kept)
    return item


def _microdata_value(value: Any) -> Any:
    """Return an item, a text, or the text of an item without type and properties."""
    if not isinstance(value, dict):
        return value
    return value.get("value") if "value" in value and "type" not in value else _microdata_item(value)


def _rdfa_items(found: list[Any]) -> Iterator[Item]:
    """The nodes of an RDF graph that no other node refers to, with the other nodes in their places.

    Of nodes that refer to each other in a circle, the first one is given.
    """
    nodes = {node["@id"]: node for node in found if isinstance(node, dict) and isinstance(node.get("@id"), str)}
    items: dict[str, Item] = {key: {"@type": sorted(_listed(node.get("@type", [])))} for key, node in nodes.items()}
    below: dict[str, set[str]] = {key: set() for key in nodes}
    for key, node in nodes.items():
        for name, values in sorted(node.items()):
            if name.startswith(("@", _RDFA_OWN_VOCABULARY)):
                continue
            for value in _listed(values):
                reference = value.get("@id") if isinstance(value, dict) else None
                if reference in items and reference != key:
                    below[key].add(reference)
                    add_value(items[key], local_name(name), items[reference])
                elif reference is None:
                    add_value(items[key], local_name(name), value)
                elif not reference.startswith("_:"):
                    add_value(items[key], local_name(name), reference)
    referred = set().union(*below.values())
    reached: set[str] = set()
    for key in sorted(nodes, key=lambda key: (key in referred, key)):
        if key not in reached:
            yield items[key]
        waiting = [key]
        while waiting:
            if (at := waiting.pop()) not in reached:
                reached.add(at)
                waiting += below[at]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
