"""The parts of an Office Open XML package, and how they are related (ISO/IEC 29500-2). Pure.

The transitional and the strict form differ only in their namespaces, so elements and attributes are known by their
local names.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.errors import Refused
from streams.pages.formats.converted import iso_date
from streams.pages.formats.zipped import Archive, attribute, local_name, parse_xml, stated_facts

_RELATIONS = "_rels/.rels"
_OFF = frozenset({"0", "false", "off", "none"})


@dataclass(frozen=True, slots=True)
class Relation:
    """One reference of a part to another part, or to an address."""

    kind: str
    """The last segment of the relation's type: `hyperlink`, `slide`, `styles`, ..."""
    target: str
    """The name of another part, or the address of something outside."""
    is_outside: bool


class Package:
    """An opened package."""

    def __init__(self, body: bytes) -> None:
        """Open a package. Raises Refused."""
        self._archive = Archive(body)
        self._roots: dict[str, Any] = {}
        self.main = self.related("", "officeDocument")
        if not self.main:
            raise Refused("office", "its _rels/.rels names no document: it is damaged, or no file of Office")

    def read(self, name: str) -> Any:
        """Return the root element of a part; None if the part is missing. Raises Refused."""
        if name not in self._roots:
            content = self._archive.read(name) if name else b""
            self._roots[name] = parse_xml(content) if content else None
        return self._roots[name]

    def read_related(self, name: str, kind: str) -> Any:
        """Return the root element of the first part of a kind that a part refers to; None if there is none."""
        return self.read(self.related(name, kind))

    def related(self, name: str, kind: str) -> str:
        """Return the name of the first part of a kind that a part refers to; empty if there is none."""
        found = (one.target for one in self.relations(name).values() if one.kind == kind and not one.is_outside)
        return next(found, "")

    def relations(self, name: str) -> Mapping[str, Relation]:
        """Return the relations of a part by their ids; `name` is empty for the relations of the package."""
        folder, _, file = name.rpartition("/")
        root = self.read(posixpath.join(folder, f"_rels/{file}.rels") if name else _RELATIONS)
        found: dict[str, Relation] = {}
        for node in root if root is not None else ():
            target = str(node.get("Target") or "")
            is_outside = node.get("TargetMode") == "External"
            if not is_outside:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[str(node.get("Id"))] = Relation(str(node.get("Type")).rpartition("/")[2], target, is_outside)
        return found

    def facts(self) -> dict[str, str]:
        """Return what the file states of itself (its core properties), by local name."""
        root = self.read_related("", "core-properties")
        found = stated_facts(root if root is not None else ())
        for name in ("created", "modified"):
            found[name] = iso_date(found.get(name, ""))
        return found


def child(node: Any, *path: str) -> Any:
    """Return the first element at a path of local names; None if there is none."""
    for name in path:
        if node is None:
            return None
        node = next((below for below in node if local_name(below) == name), None)
    return node


def relation_id(node: Any) -> str:
    """Return the id of the relation that an element names: its `id` that has a namespace."""
    return next((str(value) for key, value in node.items() if key.startswith("{") and key.endswith("}id")), "")


def is_on(node: Any, *path: str) -> bool:
    """Return whether a switch is set: `<w:b/>` is, `<w:b w:val="0"/>` and a missing one are not."""
    switch = child(node, *path)
    return switch is not None and attribute(switch, "val", "1") not in _OFF
