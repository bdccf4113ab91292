"""Compatibility of event schemas: the changes that would break a service which uses an older JSON Schema.

Allowed: a new optional property, a new event, a wider type or list of values, another description.
Breaking: a property that is removed, becomes required, or allows fewer types or values than before.
"""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """The changes from `old` to `new` that break a reader of `old`. Empty if there are only additions."""
    return list(_object_changes(old, new, old, new, ""))


def _object_changes(old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str) -> Iterator[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    for name in set(new.get("required", [])) - set(old.get("required", [])):
        yield f"{path}{name} became required"
    for name, schema in before.items():
        if name not in after:
            yield f"{path}{name} is removed"
        else:
            yield from _value_changes(schema, after[name], old_root, new_root, f"{path}{name}")


def _value_changes(old: Schema, new: Schema, old_root: Schema, new_root: Schema, path: str) -> Iterator[str]:
    old, new = _resolved(old, old_root), _resolved(new, new_root)
    if lost := _types(old) - _types(new):
        yield f"{path} no longer allows {', '.join(sorted(lost))}"
    if "enum" in old and "enum" in new and (gone := set(old["enum"]) - set(new["enum"])):
        yield f"{path} no longer allows {', '.join(sorted(map(str, gone)))}"
    if "enum" in new and "enum" not in old:
        yield f"{path} allows only {len(new['enum'])} values now"
    for bound, sign in (("minimum", 1), ("maximum", -1)):
        if bound in new and (bound not in old or sign * new[bound] > sign * old[bound]):
            yield f"{path} has a tighter {bound}: {new[bound]}"
    if "items" in old and "items" in new:
        yield from _value_changes(old["items"], new["items"], old_root, new_root, f"{path}[]")
    if "properties" in old:
        yield from _object_changes(old, new, old_root, new_root, f"{path}.")


def _types(schema: Schema) -> set[str]:
    if "anyOf" in schema:
        return set().union(*(_types(option) for option in schema["anyOf"]))
    kind = schema.get("type", "any")
    return set(kind) if isinstance(kind, list) else {kind}


def _resolved(schema: Schema, root: Schema) -> Schema:
    reference = schema.get("$ref")
    if not reference:
        return schema
    resolved: Schema = root["$defs"][str(reference).rsplit("/", 1)[-1]]
    return resolved
