"""Events about what operators do."""

from typing import ClassVar

from pydantic import Field

from schemas.envelope import Event


class OperationAudited(Event):
    """An operator has asked for an action in `/admin`. The event is published before the action begins."""

    topic: ClassVar[str] = "operations.audited"
    key_field: ClassVar[str] = "actor"

    actor: str = Field(max_length=200)
    """The name of the operator, as the browser or the proxy in front of `/admin` gave it."""
    action: str = Field(max_length=100)
    """The action, such as `replay dead letters`."""
    target: str = Field("", max_length=2_048)
    """The host, page, stage or job that the action is about."""
    detail: str = Field("", max_length=2_048)
    """The values of the form, in words."""
