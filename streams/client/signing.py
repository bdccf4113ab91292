"""The signatures of webhooks, as Standard Webhooks has them: who hears of an event looks first who sent it."""

import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import cast

from .errors import Forged
from .types import HookTestedEvent, PageIndexedEvent, PageRemovedEvent

TOLERANCE_SECONDS = 300.0
"""Maximum age of an event: an old one may be a copy that somebody sends again."""
_PREFIX = "whsec_"


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> PageIndexedEvent | PageRemovedEvent | HookTestedEvent:
    """Return the event of a request to a webhook's receiver. Raises Forged if its signature is not valid.

    `body`: as it came. `secrets`: the webhook's `secret`, or two of them while it is exchanged. Events come at least
    once: forget copies by their `id`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    event_id, stamp = sent.get("webhook-id", ""), sent.get("webhook-timestamp", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
        raise Forged("the request has no `webhook-timestamp`")
    if abs(time.time() - int(stamp)) > tolerance_seconds:
        raise Forged("the request is of another time: it may be a copy. Are the clocks right?")
    signed = f"{event_id}.{stamp}.".encode() + body
    given = [value.encode() for value in sent.get("webhook-signature", "").split()]
    right = [_signature(each, signed) for each in ([secrets] if isinstance(secrets, str) else secrets)]
    if not any(hmac.compare_digest(one, other) for one in right for other in given):
        raise Forged("no signature of the request is of this secret")
    return cast("PageIndexedEvent | PageRemovedEvent | HookTestedEvent", json.loads(body))


def _signature(secret: str, signed: bytes) -> bytes:
    """Return the signature of a text. Raises ValueError for a secret that is none."""
    return b"v1," + b64encode(hmac.digest(b64decode(secret.removeprefix(_PREFIX), validate=True), signed, sha256))
