"""Compatibility of event schemas: the changes that break a reader of either side of an upgrade.

While services are upgraded one after the other, a reader with the former schema gets the new events, and a reader with
the new schema gets former events, which are still in the topics. So each must accept all that the other side writes.

Allowed: a new optional property, a new event, another description, fewer values, tighter bounds or types of what is
written only if former events still pass. More values are allowed where the former readers handle unknown ones.
Breaking: anything else, a wider type, bound or list of values among them.
"""

from collections.abc import Iterator
from typing import Any

from schemas.unknown_values import READ_AS, WAITS

Schema = dict[str, Any]
_COMPARED = frozenset({"pattern", "const", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"})
"""Keywords that must stay as they are: no change of them is known to be harmless."""


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """Return the changes from `old` to `new` that break a reader of either. Empty if there are only additions."""
    gone = [f"{name} is removed" for name in _find_removed(old, new, old, new, "")]
    former = [f"{reason}, so former readers refuse new events" for reason in _refusals(old, new)]
    present = [f"{reason}, so new readers refuse former events" for reason in _refusals(new, old)]
    return gone + former + present


def _find_removed(old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str) -> Iterator[str]:
    after = new.get("properties", {})
    for name, schema in old.get("properties", {}).items():
        if name not in after:
            yield f"{path}{name}"
        else:
            before = _resolve_reference(schema, old_root)
            yield from _find_removed(
                before, _resolve_reference(after[name], new_root), old_root, new_root, f"{path}{name}."
            )


def _refusals(reader: Schema, writer: Schema) -> Iterator[str]:
    """Yield the reasons why a reader with one schema may refuse a valid event of the writer's schema."""
    yield from _compare_objects(reader, writer, reader, writer, "")


def _compare_objects(reader: Schema, writer: Schema, readers: Schema, writers: Schema, path: str) -> Iterator[str]:
    for name in sorted(set(reader.get("required", [])) - set(writer.get("required", []))):
        yield f"{path}{name} may be missing"
    written = writer.get("properties", {})
    for name, schema in reader.get("properties", {}).items():
        if name in written:
            yield from _compare_values(schema, written[name], readers, writers, f"{path}{name}")


def _compare_values(reader: Schema, writer: Schema, readers: Schema, writers: Schema, path: str) -> Iterator[str]:
    reader, writer = _resolve_reference(reader, readers), _resolve_reference(writer, writers)
    if more := _types(writer, writers) - _types(reader, readers):
        yield f"{path} may be {', '.join(sorted(more))}"
    if more_values := _unknown_values(reader, writer):
        yield f"{path} may be {', '.join(more_values)}"
    for bound, sign in (("minimum", 1), ("maximum", -1)):
        if bound in reader and (bound not in writer or sign * writer[bound] < sign * reader[bound]):
            yield f"{path} may be beyond the {bound} of {reader[bound]}"
    for keyword in sorted(_COMPARED & (reader.keys() | writer.keys())):
        if reader.get(keyword) != writer.get(keyword):
            yield f"{path} has another {keyword}"
    if "items" in reader and "items" in writer:
        yield from _compare_values(reader["items"], writer["items"], readers, writers, f"{path}[]")
    if "properties" in reader:
        yield from _compare_objects(reader, writer, readers, writers, f"{path}.")


def _unknown_values(reader: Schema, writer: Schema) -> list[str]:
    """Return the values that a writer may send, and that the reader neither knows nor handles as unknown."""
    if "enum" not in reader or READ_AS in reader or reader.get(WAITS):
        return []
    if "enum" not in writer:
        return ["any value"]
    return sorted(str(value) for value in writer["enum"] if value not in reader["enum"])


def _types(schema: Schema, root: Schema) -> set[str]:
    """Return the types of a value. A value without a type may be anything."""
    schema = _resolve_reference(schema, root)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return set().union(*(_types(option, root) for option in options))
    kind = schema.get("type", "any")
    kinds = set(kind) if isinstance(kind, list) else {kind}
    formatted = schema.get("format")
    return {f"{name} ({formatted})" if formatted else name for name in kinds}


def _resolve_reference(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    if not reference:
        return schema
    resolved: Schema = root["$defs"][str(reference).rsplit("/", 1)[-1]]
    return resolved
