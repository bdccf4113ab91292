"""Items of structured data: things with a `type` (schema.org's name) and properties. What facts are read from."""

from collections.abc import Iterable
from typing import Any

Item = dict[str, Any]


def kinds(item: Item) -> list[str]:
    return item.get("types") or [item["type"]] if "type" in item else []


def items_of(items: Iterable[Item], *types: str) -> list[Item]:
    """Return the items with a type that ends in one of `types`: `Article` also finds NewsArticle."""
    return [item for item in items if any(kind.endswith(types) for kind in kinds(item))]


def add_main_entities(items: list[Item]) -> list[Item]:
    """Return the items, each followed by its main entity (the article of a page).

    The questions of a FAQ page are left out.
    """
    found: list[Item] = []
    for item in items:
        found.append(item)
        main = item.get("mainEntity")
        if main and "FAQPage" not in kinds(item):
            found += [inner for inner in (main if isinstance(main, list) else [main]) if is_item(inner)]
    return found


def is_item(value: Any) -> bool:
    """Return whether a property's value is an item with a type."""
    return isinstance(value, dict) and "type" in value


def texts(value: Any) -> list[str]:
    """Return a property's values as texts; an item gives its name."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    if isinstance(value, dict):
        return texts(value.get("name") or value.get("url") or "")
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    return []
