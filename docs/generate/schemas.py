"""The published contract of the events: JSON Schemas, and an AsyncAPI document over them."""

from typing import Any

from schemas import EVENTS, Event
from streams.topology import STAGES, TOPICS, Stage

SERVERS: dict[str, Any] = {
    "local": {
        "host": "127.0.0.1:9092",
        "protocol": "kafka",
        "description": "The local stack. `riffle status` shows the port.",
    },
    "cluster": {
        "host": "{bootstrap}",
        "protocol": "kafka-secure",
        "description": "A cluster, with certificates or with user names, as its operator says.",
        "variables": {"bootstrap": {"default": "kafka.example.org:9093", "description": "HOST:PORT of some brokers"}},
        "security": [{"$ref": f"#/components/securitySchemes/{name}"} for name in ("certificate", "scram", "plain")],
    },
}
SECURITY: dict[str, Any] = {
    "certificate": {"type": "X509", "description": "A certificate of the client (mutual TLS)"},
    "scram": {"type": "scramSha512", "description": "SASL with SCRAM-SHA-512, or SCRAM-SHA-256"},
    "plain": {"type": "plain", "description": "SASL with PLAIN, for managed clusters"},
}
"""The ways in which Kafka knows a client."""
JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"
HEADERS: dict[str, str] = {
    "ce_specversion": "CloudEvents version: 1.0",
    "ce_id": "Id of the event (UUID). The same event delivered twice has the same id.",
    "ce_type": "Type of the event: riffle.<topic>.v1",
    "ce_source": "The producer: /riffle/<stage>",
    "ce_dataschema": "Name of the JSON Schema of the data: urn:riffle:schema:<topic>.v1",
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
    return {"$schema": JSON_SCHEMA_DIALECT, "$id": event.schema_id(), "title": event.__name__, **schema}


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
        "servers": SERVERS,
        "channels": {event.topic: _channel(event) for event in EVENTS},
        "operations": {name: operation for stage in STAGES for name, operation in _operations(stage)},
        "components": {
            "messages": {event.__name__: _message(event) for event in EVENTS},
            "schemas": {"Headers": _headers(), **_shared_schemas()},
            "securitySchemes": SECURITY,
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
    optional = {"traceparent", "ce_subject", "ce_dataschema"}  # the last one is missing in events of earlier releases
    required = [name for name in HEADERS if name not in optional]
    return {"type": "object", "required": required, "properties": properties}


def _inlined(event: type[Event]) -> dict[str, Any]:
    """Return the schema as a part of the document. References in it begin at the document's root (draft-07)."""
    schema: dict[str, Any] = _with_shared(json_schema(event))
    for own in ("$schema", "$id", "$defs"):
        schema.pop(own, None)
    return schema


def _shared_schemas() -> dict[str, Any]:
    """Return the schemas below the events' schemas, by name."""
    return {name: _with_shared(part) for event in EVENTS for name, part in json_schema(event).get("$defs", {}).items()}


def _with_shared(node: Any) -> Any:
    """Return a schema whose references lead to the document's shared schemas."""
    if isinstance(node, dict):
        changed = {name: _with_shared(value) for name, value in node.items()}
        if str(node.get("$ref", "")).startswith("#/$defs/"):
            changed["$ref"] = "#/components/schemas/" + node["$ref"].removeprefix("#/$defs/")
        return changed
    return [_with_shared(each) for each in node] if isinstance(node, list) else node


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
