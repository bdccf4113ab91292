"""Events of webhooks."""

from typing import Any, ClassVar

from pydantic import Field

from schemas.envelope import Event


class HookDue(Event):
    """A webhook must hear of an event. One is sent for each hook that may hear of it."""

    topic: ClassVar[str] = "hooks.due"
    key_field: ClassVar[str] = "hook_id"

    hook_id: str = Field(max_length=64)
    url: str = Field("", max_length=4_096)
    """The address of the page that the event is about. Empty for a test."""
    cloud_event: dict[str, Any]
    """The event as it is delivered: its CloudEvents attributes, and its `data`."""
