"""Server-sent events (HTML, section 9.2.6), read as they come. Pure.

Only a line feed ends a line: in the texts of pages are other characters that Python, too, takes for ends of lines.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import NotReached

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Maximum size of an event (bytes): the gateway's own are much smaller."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event of a stream."""

    name: str
    """Such as `pages.indexed`, `pages.removed`, `progress` or `end`."""
    data: dict[str, Any]
    """A CloudEvent for each event of a page (`PageIndexedEvent`, `PageRemovedEvent`, `PageFetchedEvent`)."""
    id: str = ""
    """The place behind the event: a stream that begins with it as `last_event_id` goes on there."""


class EventReader:
    """Makes events of the bytes of a stream. `last_id` is the place behind the last event that had one."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self.begin()

    def begin(self) -> None:
        """Forget the parts of an event whose stream broke off."""
        self._left = b""
        self._name, self._data, self._size = "", list[str](), 0

    def read(self, chunk: bytes) -> Iterator[StreamEvent]:
        """Yield the events that these bytes end. Raises NotReached for an event that is no JSON, or too large."""
        self._size += len(chunk)
        *lines, self._left = (self._left + chunk).split(b"\n")
        for line in lines:
            if event := self._line(line.decode("utf-8", "replace").removesuffix("\r")):
                yield event
        if self._size > MAX_EVENT_BYTES:
            raise NotReached("the stream has an event that is too large")

    def _line(self, line: str) -> StreamEvent | None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self.last_id = value
            case "" if not self._data:  # a comment, or the end of nothing
                self._size = len(self._left)
            case "" if not line:
                return self._end()
        return None

    def _end(self) -> StreamEvent | None:
        name, data = self._name, "\n".join(self._data)
        self._name, self._data, self._size = "", [], len(self._left)
        try:
            content = json.loads(data)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise NotReached(f"the stream has an event {name[:40]!r} that is no JSON object")
        return StreamEvent(name, content, self.last_id)
