"""Structured data as the library extruct reads it, made into what `structured` cuts and types: loaded only where it was
chosen.

It gets the page as it came, menus included. What it fails at, a script or a syntax, is read by our own reader. What it
does not have is the page's order of RDF's items and values: RDF has none.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import orjson
from extruct.jsonld import JsonLdExtractor
from extruct.rdfa import RDFaExtractor
from extruct.utils import parse_html, parse_xmldom_html
from extruct.w3cmicrodata import MicrodataExtractor

from streams.pages.metadata.structured_data import Item, Structured, loaded, local_name, put
from streams.pages.parse.link_resolver import Resolver
from streams.pages.parse.page import Parsed

MARK_ROUNDS = 4
"""How many references away a difference between two nodes may be that still decides which of them comes first."""
_OF_RDFA_ITSELF = "http://www.w3.org/ns/rdfa#"
Node = dict[str, Any]
_T = TypeVar("_T")


def read_with_extruct(parsed: Parsed, resolver: Resolver) -> Structured:
    """Each syntax is asked for only where the page has it. Raises MemoryError."""
    head, base, data = parsed.head, resolver.base, Structured(resolver.absolute)
    if not (head.has_json_ld or head.has_microdata or head.has_rdfa):
        return data
    tree = _tree(parsed.html, with_dom=head.has_rdfa)
    if tree is None:
        data.read(parsed.tree, head)
        return data
    if head.has_json_ld:
        data.graph([_script(script) for script in tree.iter("script")])
    if head.has_microdata:
        found = _tried(lambda: [_item(item) for item in _plain(MicrodataExtractor().extract_items(tree, base))])
        data.microdata(parsed.tree) if found is None else data.annotated(found)
    if head.has_rdfa:
        found = _tried(lambda: list(_roots(_plain(RDFaExtractor().extract_items(tree, base)))))
        data.rdfa(parsed.tree) if found is None else data.annotated(found)
    return data


def _tree(html: str, *, with_dom: bool) -> Any:
    """lxml's tree, for RDFa's reader with the methods of a DOM, which are slower; None where lxml finds no element."""
    parse = parse_xmldom_html if with_dom else parse_html
    return _tried(lambda: parse(html.replace("\0", "\ufffd").encode("utf-8", "replace"), encoding="utf-8"))


def _script(script: Any) -> Any:
    found = _tried(lambda: _plain(JsonLdExtractor().extract_items(script)))
    return loaded(script.text or "") if found is None else found


def _plain(found: list[Any]) -> list[Any]:
    """As values that JSON can hold: extruct lets through numbers of any size and halves of characters."""
    made: list[Any] = orjson.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    return made


def _tried(work: Callable[[], _T]) -> _T | None:
    """What comes of it; None where it fails, on whatever: the page is a stranger's, and the library not ours. Raises
    MemoryError."""
    try:
        return work()
    except MemoryError:
        raise
    except Exception:
        return None


def _item(found: Node) -> Item:
    """An item of Microdata, and what is in it."""
    made: Item = {"@type": found.get("type", "")}
    for name, values in found.get("properties", {}).items():
        for value in _listed(values):
            if kept := _value(value):
                put(made, local_name(name), kept)
    return made


def _value(value: Any) -> Any:
    """An item without type and properties is its text."""
    if not isinstance(value, dict):
        return value
    return value.get("value") if "value" in value and "type" not in value else _item(value)


def _roots(found: list[Node]) -> Iterator[Item]:
    """The nodes of an RDF graph that no other refers to, the others in their places; of a circle the first. Sorted by
    what they say, as is all in them: the library's own order is another one each time."""
    nodes = {node["@id"]: node for node in found if isinstance(node, dict) and isinstance(node.get("@id"), str)}
    marks = _marks(nodes)
    order = sorted(nodes, key=marks.__getitem__)
    items: dict[str, Item] = {key: {"@type": sorted(_listed(nodes[key].get("@type", [])))} for key in order}
    below: dict[str, set[str]] = {key: set() for key in order}
    for key in order:
        for name, values in sorted(nodes[key].items()):
            if name.startswith(("@", _OF_RDFA_ITSELF)):
                continue
            for value in sorted(_listed(values), key=lambda value: _mark(value, marks)):
                reference = value.get("@id") if isinstance(value, dict) else None
                if reference in items and reference != key:
                    below[key].add(reference)
                    put(items[key], local_name(name), items[reference])
                elif reference is None:
                    put(items[key], local_name(name), value)
                elif not reference.startswith("_:"):
                    put(items[key], local_name(name), reference)
    referred = set().union(*below.values())
    reached: set[str] = set()
    for key in sorted(order, key=referred.__contains__):
        if key not in reached:
            yield items[key]
        waiting = [key]
        while waiting:
            if (at := waiting.pop()) not in reached:
                reached.add(at)
                waiting += below[at]


def _marks(nodes: dict[str, Node]) -> dict[str, str]:
    """For each node what tells it from others, whatever blank nodes are called in this run."""
    marks = {key: _name(key) for key in nodes}
    for _ in range(MARK_ROUNDS):
        marks = {key: _digest(_name(key), node, marks) for key, node in nodes.items()}
    return marks


def _digest(name: str, node: Node, marks: dict[str, str]) -> str:
    said = sorted([key, *sorted(_mark(value, marks) for value in _listed(values))] for key, values in node.items())
    return hashlib.blake2b(orjson.dumps([name, said]), digest_size=16).hexdigest()


def _mark(value: Any, marks: dict[str, str]) -> str:
    if isinstance(value, dict) and "@id" in value:
        return marks.get(value["@id"], "")
    if isinstance(value, str) and value.startswith("_:"):
        return ""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _name(key: str) -> str:
    return "" if key.startswith("_:") else key


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
