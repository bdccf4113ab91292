"""The merging of nested mappings, as settings and unit costs are read."""

from collections.abc import Mapping
from typing import Any


def merge_mappings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with its values replaced by those in `over`, at every depth."""
    found = dict(base)
    for name, value in over.items():
        below = found.get(name)
        found[name] = merge_mappings(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found
