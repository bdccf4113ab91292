"""Sample events: of each type one with its required fields, one with all fields, and one for each listed value."""

import json
import types
import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import AwareDatetime, BaseModel

from schemas import EVENTS, Event

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_SIMPLE: dict[Any, Any] = {bool: True, int: 3, float: 0.5, datetime: TIME.isoformat(), AwareDatetime: TIME.isoformat()}
_TEXTS = {"url": "https://rivers.example/riffles", "host": "rivers.example"}


def all_samples() -> Iterator[Event]:
    """Samples of all types."""
    for event in EVENTS:
        yield from samples(event)


def samples(event: type[Event]) -> Iterator[Event]:
    """Samples of one type."""
    fields = event.model_fields
    whole = {name: _value(field.annotation, name) for name, field in fields.items()}
    yield _made(event, {name: whole[name] for name, field in fields.items() if field.is_required()})
    yield _made(event, whole)
    for name, field in fields.items():
        for value in listed_values(field.annotation):
            yield _made(event, {**whole, name: value})


def listed_values(annotation: Any) -> tuple[str, ...]:
    """The values of a field with a fixed list of them, else none."""
    if typing.get_origin(annotation) is typing.Annotated:
        return listed_values(typing.get_args(annotation)[0])
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def _made(event: type[Event], values: dict[str, Any]) -> Event:
    return event.model_validate_json(json.dumps(values))


def _value(annotation: Any, name: str) -> Any:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated or origin in (typing.Union, types.UnionType):
        return _value(next(kind for kind in arguments if kind is not type(None)), name)
    if origin is typing.Literal:
        return arguments[0]
    if origin is tuple:
        return [_value(arguments[0], name)]
    if origin is dict:
        return {"content-type": "text/html"} if arguments[1] is str else {"statements": 1}
    if annotation is UUID:
        return str(uuid5(NAMESPACE_URL, name))
    if annotation is str:
        return _TEXTS.get(name, f"some {name}")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: _value(field.annotation, name) for name, field in annotation.model_fields.items()}
    return _SIMPLE[annotation]
