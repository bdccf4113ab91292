"""The form of what a webhook sends: a CloudEvent, signed as Standard Webhooks says. Pure.

    body                CloudEvents 1.0, the JSON format in structured mode, so that the signature covers all attributes
    webhook-id          the event's id: the same with each try, so that a receiver knows copies
    webhook-timestamp   the time of this try, seconds since 1970 UTC: receivers refuse old ones
    webhook-signature   `v1,BASE64` of HMAC-SHA256 over `ID.TIMESTAMP.BODY`, one for each secret, separated by spaces

A secret is `whsec_BASE64`. While it is exchanged, both sign.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from schemas import Envelope, Event
from schemas.envelope import CONTENT_TYPE, SCHEMA_PREFIX, SPEC_VERSION, schema_id_of
from streams.stores.protocols import HookSecret

MEDIA_TYPE = "application/cloudevents+json; charset=utf-8"
SECRET_PREFIX = "whsec_"  # noqa: S105 (the beginning of each secret)
SECRET_BYTES = 32
TEST_TYPE = "riffle.hooks.tested.v1"
SCHEMAS_PATH = "/api/v1/schemas"
"""The path of all schemas at a gateway, and the begin of the path of each."""


def make_secret(random: bytes) -> str:
    """Return a secret of SECRET_BYTES random bytes."""
    return SECRET_PREFIX + b64encode(random).decode()


def cloud_event(event: Event, envelope: Envelope, gateway: str = "") -> dict[str, Any]:
    """Return an event with its attributes, as CloudEvents' JSON format has them.

    `gateway`: its public address, where `dataschema` leads; empty: not known, and `dataschema` is the schema's name.
    """
    subject, data = envelope.subject or event.subject(), orjson.loads(event.to_json())
    made = _with_attributes(str(envelope.id), envelope.source, envelope.type, subject, envelope.time, data)
    name = schema_id_of(envelope.type)
    return {**made, "dataschema": f"{gateway.rstrip('/')}{schema_path(name)}" if gateway else name}


def schema_path(name: str) -> str:
    """Return the path of a schema at a gateway, by its name."""
    return f"{SCHEMAS_PATH}/{name.removeprefix(SCHEMA_PREFIX)}"


def test_event(hook_id: str, event_id: str, time: datetime) -> dict[str, Any]:
    """Return the event of a test: no page has changed."""
    return _with_attributes(event_id, "/riffle/gateway", TEST_TYPE, hook_id, time, {"hook": hook_id})


def _with_attributes(
    event_id: str, source: str, kind: str, subject: str, time: datetime, data: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "specversion": SPEC_VERSION,
        "id": event_id,
        "source": source,
        "type": kind,
        "subject": subject,
        "time": time.isoformat().replace("+00:00", "Z"),
        "datacontenttype": CONTENT_TYPE,
        "data": data,
    }


def secrets_at(secrets: Iterable[HookSecret], now_micros: int) -> list[str]:
    """Return the secrets that sign at this time."""
    return [each.secret for each in secrets if not each.until or now_micros < each.until]


def sign(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.digest(key, f"{event_id}.{timestamp}.".encode() + body, sha256)
    return f"v1,{b64encode(digest).decode()}"


def headers_of(event_id: str, body: bytes, secrets: Iterable[str], now_micros: int) -> dict[str, str]:
    """Return the headers of one try."""
    timestamp = now_micros // 1_000_000
    return {
        "Content-Type": MEDIA_TYPE,
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(sign(secret, event_id, timestamp, body) for secret in secrets),
    }
