"""The published contract of the events: JSON Schemas, and an AsyncAPI document over them."""

from typing import Any

from schemas import EVENTS, Event
from streams.topology import STAGES, TOPICS, Stage

JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
HEADERS: dict[str, str] = {
    "ce_specversion": "CloudEvents version: 1.0",
    "ce_id": "Id of the event (UUID). The same event delivered twice has the same id.",
    "ce_type": "Type of the event: riffle.<topic>.v1",
    "ce_source": "The producer: /riffle/<stage>",
    "ce_time": "Time of the event, RFC 3339",
    "ce_subject": "The subject of the event: a page's id",
    "content-type": "application/json",
    "traceparent": "W3C Trace Context",
}


def json_schema(event: type[Event]) -> dict[str, Any]:
    """The JSON Schema of an event's data. Unknown properties are allowed: a newer producer may send more."""
    schema = event.model_json_schema(mode="serialization")
    _drop_titles(schema)
    # In serialization mode every field with a default is required, but records leave out null fields.
    _loosen_required(schema, event.model_json_schema(mode="validation"))
    return {"$schema": JSON_SCHEMA_DIALECT, "title": event.__name__, **schema}


def asyncapi() -> dict[str, Any]:
    """The AsyncAPI 3.0 document: a channel per topic, an operation per stage and topic."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Riffle",
            "version": "1.0.0",
            "description": "Every page transition is an event. Events change only by addition: ignore unknown fields. "
            "A list of values says how an unknown one is read (x-unknown-read-as, x-unknown-waits).",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {event.topic: _channel(event) for event in EVENTS},
        "operations": {name: operation for stage in STAGES for name, operation in _operations(stage)},
        "components": {
            "messages": {event.__name__: _message(event) for event in EVENTS},
            "schemas": {"Headers": _headers()},
        },
    }


def _channel(event: type[Event]) -> dict[str, Any]:
    topic = next(topic for topic in TOPICS if topic.name == event.topic)
    return {
        "address": event.topic,
        "description": (event.__doc__ or "").strip(),
        "messages": {event.__name__: {"$ref": f"#/components/messages/{event.__name__}"}},
        "bindings": {
            "kafka": {
                "topic": event.topic,
                "topicConfiguration": {"cleanup.policy": ["compact" if topic.compacted else "delete"]},
            }
        },
    }


def _message(event: type[Event]) -> dict[str, Any]:
    return {
        "name": event.event_type(),
        "summary": event.summary(),
        "contentType": "application/json",
        "headers": {"$ref": "#/components/schemas/Headers"},
        "payload": {"schemaFormat": "application/schema+json;version=draft-07", "schema": _inlined(event)},
        "bindings": {"kafka": {"key": {"type": "string", "description": f"the field {event.key_field}"}}},
    }


def _operations(stage: Stage) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{stage.name}.{action}.{event.topic}", {"action": action, "channel": {"$ref": f"#/channels/{event.topic}"}})
        for action, events in (("receive", stage.inputs), ("send", stage.outputs))
        for event in events
    ]


def _headers() -> dict[str, Any]:
    properties = {name: {"type": "string", "description": text} for name, text in HEADERS.items()}
    required = [name for name in HEADERS if name not in {"traceparent", "ce_subject"}]
    return {"type": "object", "required": required, "properties": properties}


def _inlined(event: type[Event]) -> dict[str, Any]:
    schema = json_schema(event)
    schema.pop("$schema")
    return schema


def _drop_titles(schema: Any) -> None:
    if isinstance(schema, dict):
        if isinstance(schema.get("title"), str):
            schema.pop("title")
        for value in schema.values():
            _drop_titles(value)
    elif isinstance(schema, list):
        for value in schema:
            _drop_titles(value)


def _loosen_required(schema: dict[str, Any], validation: dict[str, Any]) -> None:
    schema["required"] = validation.get("required", [])
    if not schema["required"]:
        schema.pop("required")
