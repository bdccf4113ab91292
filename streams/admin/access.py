"""Who may use the pages of operators, whether a form was sent from them, and the problems that they answer.

HTTP Basic carries a name and the key of the settings (RFC 7617). The name is for the audit log. A proxy that signs
people in by OIDC sends the same: the name of the person, and the key. So nobody who reaches the port past the proxy can
claim a name without the key.

A browser sends the credentials along with a form of another site, too. Each form therefore has a token, which follows
from the key and the name, and which no other site can read.
"""

import asyncio
import hmac
from base64 import b64decode
from binascii import Error
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from fastapi import Request

from streams.errors import RiffleError
from streams.gateway.http.problems import Problem, ProblemError
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

    def sign(self, note: str) -> str:
        """Return a note for the address of this person's next page, which shows no text that another wrote there."""
        return f"{hmac.new(self.token.encode(), note.encode(), sha256).hexdigest()} {note}"

    def read_note(self, signed: str) -> str:
        """Return the note that `sign` signed, or an empty text."""
        note = signed.partition(" ")[2]
        return note if hmac.compare_digest(self.sign(note).encode(), signed.encode("utf-8", "replace")) else ""


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


REFUSAL_SECONDS = 1.0
"""Time until a wrong key is answered (seconds), so that keys are not tried quickly."""
MAX_REFUSALS = 20
"""Maximum wrong keys that wait for their answer. While there are N, no key is looked at."""

SignIn = Callable[[Request], Awaitable[Operator]]


def sign_in_with(key: str) -> SignIn:
    """Return a function that returns the operator of a request. It raises ProblemError for anybody else."""

    refusals = asyncio.Semaphore(MAX_REFUSALS)

    async def operator_of(request: Request) -> Operator:
        given = request.headers.get("authorization", "")
        if given and refusals.locked():
            raise ProblemError(too_many_tries())
        if operator := read_operator(given, key):
            return operator
        if given:
            async with refusals:
                await asyncio.sleep(REFUSAL_SECONDS)
        raise ProblemError(unauthorized())

    return operator_of


def unauthorized() -> Problem:
    return Problem(
        "unauthorized",
        "It needs a name, and as the password RIFFLE_ADMIN__KEY, or what `riffle admin` has printed.",
        headers={"WWW-Authenticate": CHALLENGE},
    )


def too_many_tries() -> Problem:
    why = "Many wrong keys are tried at this moment."
    return Problem("too-many-requests", why, "Try again in a few seconds.", headers={"Retry-After": "5"})


def unavailable(error: RiffleError) -> Problem:
    hint = "Try again in a few seconds."
    return Problem("unavailable", f"{error}.", hint, headers={"Retry-After": "5"})


def impossible(error: RiffleError) -> Problem:
    return Problem("invalid-action", f"{error}.")
