"""Answers that the API sends as server-sent events. Pure."""

import json
from collections.abc import Iterator
from typing import Any, TypedDict


class ModelAnswer(TypedDict):
    """The events of an answer by a language model, after its end."""

    sentences: list[dict[str, Any]]
    """Each has its `text`, and the `statement` that says it, with `url`, `title` and `text`."""
    end: dict[str, Any]
    """The outcome: `status`, and the `reason` why there is no answer."""


def answer_of(stream: str) -> ModelAnswer:
    """Return the answer of a whole stream of events."""
    events = list(events_of(stream))
    sentences = [content for name, content in events if name == "sentence"]
    return {"sentences": sentences, "end": dict(events).get("end", {})}


def events_of(stream: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the content of each event, as the API writes them, up to an event that broke off."""
    for block in stream.strip().split("\n\n"):
        name, _, data = block.partition("\n")
        if name.startswith("event: ") and data.startswith("data: "):
            try:
                content = json.loads(data[6:])
            except ValueError:
                return
            yield name[7:], content
