"""Panels against labelled queries: how many are shown, how many of them are right, and how many should not be there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.errors import UsageError
from streams.knowledge.names import name_key
from streams.lines.jsonl import read_objects

MAX_EXAMPLES = 20
Ask = Callable[[str], Mapping[str, Any] | None]
"""Return the panel that is shown for a query, as the API has it, or None."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query with the entity that it asks for. None: no panel belongs to it."""

    query: str
    entity: str | None


def read_queries(path: Path) -> list[LabelledQuery]:
    """Return the queries of a file. Raises UsageError, which names the line."""
    found = []
    for where, row in read_objects(path):
        query, entity = row.get("query"), row.get("entity")
        if not isinstance(query, str) or not query.strip():
            raise UsageError(f"{where}: `query` is missing")
        if entity is not None and not isinstance(entity, str):
            raise UsageError(f"{where}: `entity` is neither a text nor null")
        found.append(LabelledQuery(query, entity or None))
    return found


def evaluate_panels(queries: Sequence[LabelledQuery], ask: Ask) -> dict[str, Any]:
    """Return the figures. An entity is right by its id, the id of its article, or its label.

    A choice of several entities says nothing wrong about a query that asks for one of them: it is counted by itself.
    For a query without an entity it is as wrong as a panel.
    """
    shown = right = choices = choices_with = wrong_without = wrong_choices = 0
    examples: list[dict[str, Any]] = []
    with_entity = [one for one in queries if one.entity]
    for one in queries:
        panel = ask(one.query)
        if panel is None:
            continue
        if panel.get("kind") == "choice":
            choices += bool(one.entity)
            choices_with += bool(one.entity) and any(is_named(each, one.entity) for each in panel.get("others", ()))
            wrong_choices += not one.entity
            if not one.entity and len(examples) < MAX_EXAMPLES:
                examples.append({"query": one.query, "wanted": None, "shown": f"choice: {panel.get('label')}"})
            continue
        is_right = is_named(panel, one.entity)
        right += is_right
        shown += bool(one.entity)
        wrong_without += not one.entity
        if not is_right and len(examples) < MAX_EXAMPLES:
            examples.append({"query": one.query, "wanted": one.entity, "shown": panel.get("label")})
    without = len(queries) - len(with_entity)
    return {
        "queries": len(queries),
        "with_an_entity": len(with_entity),
        "precision": _share(right, shown + wrong_without + wrong_choices),
        "share_shown": _share(shown, len(with_entity)),
        "wrong_shown_without_an_entity": _share(wrong_without + wrong_choices, without),
        "choices_without_an_entity": wrong_choices,
        "choices": choices,
        "choices_that_have_it": choices_with,
        "wrong": examples,
    }


def is_named(shown: Mapping[str, Any], entity: str | None) -> bool:
    """Return whether this is the entity with an id, or with an article or a label of this name."""
    if not entity:
        return False
    identity, label = str(shown.get("id", "")), str(shown.get("label", ""))
    own = name_key(entity.partition(":")[2] or entity)
    return entity == identity or own in (name_key(label), name_key(identity.partition(":")[2]))


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
