"""The merging of nested mappings, as settings and unit costs are read."""

from collections.abc import Mapping
from typing import Any


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over` in place of its own, at every depth."""
    found = dict(base)
    for name, value in over.items():
        below = found.get(name)
        found[name] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found
