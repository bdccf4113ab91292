"""The check who may use the pages of operators, and whether a form was sent from them. Pure.

HTTP Basic carries a name and the key of the settings (RFC 7617). The name is for the audit log. A proxy that signs
people in by OIDC sends the same: the name of the person, and the key. So nobody who reaches the port past the proxy can
claim a name without the key.

A browser sends the credentials along with a form of another site, too. Each form therefore has a token, which follows
from the key and the name, and which no other site can read.
"""

import hmac
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from hashlib import sha256

from streams.plain_text import clean_line

MAX_NAME_CHARS = 200
CHALLENGE = 'Basic realm="Riffle admin", charset="UTF-8"'
"""The header `WWW-Authenticate` of a refusal."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A person who may use the pages."""

    name: str
    token: str
    """The token of the person's forms."""

    def sent(self, token: str) -> bool:
        """Return whether a form with this token was sent from a page of this person."""
        return hmac.compare_digest(self.token.encode(), token.encode())


def read_operator(authorization: str, key: str) -> Operator | None:
    """Return the operator of a header `Authorization`, or None if the header is missing or its key is wrong."""
    scheme, _, encoded = authorization.partition(" ")
    try:
        name, colon, password = b64decode(encoded, validate=True).decode().partition(":")
    except (Error, UnicodeDecodeError, ValueError):
        return None
    if scheme.lower() != "basic" or not colon or not hmac.compare_digest(password.encode(), key.encode()):
        return None
    shown = clean_line(name)[:MAX_NAME_CHARS] or "operator"
    return Operator(shown, hmac.new(key.encode(), f"form of {shown}".encode(), sha256).hexdigest())
