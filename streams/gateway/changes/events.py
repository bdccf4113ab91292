"""The events of webhooks, as the OpenAPI document describes them: CloudEvents 1.0, with the data of their topics."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import models_json_schema

from schemas import PageIndexed, PageRemoved
from streams.gateway.http.openapi import ApiModel, reference


class _CloudEvent(ApiModel):
    specversion: Literal["1.0"]
    id: str = Field(description="The same with each try: `webhook-id`.")
    source: str = Field(description="Who says it, such as `/riffle/index`.")
    subject: str = Field(description="The page's id; of a test, the webhook's.")
    time: datetime
    datacontenttype: Literal["application/json"]


class PageIndexedEvent(_CloudEvent):
    """A page became searchable."""

    type: Literal["riffle.pages.indexed.v1"]
    dataschema: str
    data: PageIndexed


class PageRemovedEvent(_CloudEvent):
    """A page was removed from the index."""

    type: Literal["riffle.pages.removed.v1"]
    dataschema: str
    data: PageRemoved


class HookTested(ApiModel):
    """The data of a test."""

    hook: str = Field(description="The webhook's id.")


class HookTestedEvent(_CloudEvent):
    """Somebody tests a webhook. No page has changed."""

    type: Literal["riffle.hooks.tested.v1"]
    data: HookTested


EVENTS: dict[str, type[_CloudEvent]] = {
    "riffle.pages.indexed.v1": PageIndexedEvent,
    "riffle.pages.removed.v1": PageRemovedEvent,
    "riffle.hooks.tested.v1": HookTestedEvent,
}
"""The events of a webhook, by `type`."""


def event_schemas() -> dict[str, Any]:
    """Return the schemas of all events, and those within them, by name."""
    _, schemas = models_json_schema(
        [(event, "validation") for event in EVENTS.values()], ref_template=reference("{model}")["$ref"]
    )
    found: dict[str, Any] = schemas["$defs"]
    return found


def deliveries_of_a_hook() -> dict[str, Any]:
    """Return what OpenAPI says of the requests that a webhook's receiver gets (`callbacks`)."""
    mapping = {kind: reference(event.__name__)["$ref"] for kind, event in EVENTS.items()}
    schema = {
        "oneOf": [reference(event.__name__) for event in EVENTS.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }
    post = {
        "operationId": "receive_event",
        "tags": ["changes"],
        "summary": "An event",
        "description": "What the receiver gets, signed as Standard Webhooks says.",
        "security": [],
        "requestBody": {"required": True, "content": {"application/cloudevents+json": {"schema": schema}}},
        "responses": {
            "204": {"description": "The event is taken; so says each status of the class 2xx."},
            "410": {"description": "The receiver is gone: the webhook is switched off."},
        },
    }
    return {"event": {"{$request.body#/url}": {"post": post}}}
