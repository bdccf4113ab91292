"""Sign-ins at hosts of the operator's choice: headers, cookies and passwords (Basic), from a file with secrets.

    {"https://wiki.example.com": {"basic": "crawler:PASSWORD"},
     "https://news.example.com": {"cookies": {"session": "..."}, "headers": {"X-Token": "..."}, "public": true}}

They are sent only to that origin, only over https, and only by the fetch stage: a redirect is a request of its own, and
neither a page that is fetched now nor the scripts of a page have them. They are never logged, and the stored exchange
lacks them. A server that repeats them in its pages is not noticed.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from streams.allowed_origins import origin_of, parse_origins
from streams.credentials import current_secret
from streams.errors import UsageError

log = structlog.get_logger(__name__)

_KINDS = frozenset({"basic", "cookies", "headers", "public"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
"""The name of a header or of a cookie (RFC 9110, section 5.6.2)."""
_VALUE = re.compile(r"[\x20-\x7e]{1,8000}")
_HEADERS = """
    accept accept-encoding connection content-length content-type cookie expect host if-modified-since if-none-match
    keep-alive origin proxy-authorization range te trailer transfer-encoding upgrade user-agent
"""
_OF_THE_CLIENT = frozenset(_HEADERS.split())
"""Headers that the client sets itself."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """The sign-in at one origin."""

    headers: Mapping[str, str] = field(repr=False)
    is_public: bool
    """True: the operator says that everybody may find what is read."""


class SignIns:
    """The sign-ins of a file. It is read again after a change. While it can't be used, the former ones hold."""

    def __init__(self, file: Path | None) -> None:
        """Read the file. Raises UsageError if it can't be used."""
        self._file = file
        self._text = "" if file is None else current_secret(file)
        self._sign_ins = {} if file is None else parse_sign_ins(self._text, str(file))

    def of(self, url: str) -> SignIn | None:
        """Return the sign-in for a canonical URL."""
        if self._file is not None and (text := current_secret(self._file)) != self._text:
            self._text = text
            try:
                self._sign_ins = parse_sign_ins(text, str(self._file))
            except UsageError as error:
                log.error("the file of sign-ins can't be used; the former ones hold", error=str(error))
        return self._sign_ins.get(origin_of(url))


def parse_sign_ins(text: str, file: str) -> dict[str, SignIn]:
    """Return the sign-ins by origin. Raises UsageError, which names the place and no secret."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise UsageError(
            f'{file} is no JSON object of origins, as in {{"https://wiki.example.com": {{"basic": "..."}}}}'
        )
    return {_origin(name, file): _sign_in(name, given, file) for name, given in found.items()}


def _origin(name: str, file: str) -> str:
    try:
        (origin,) = parse_origins([name])
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from None
    if not origin.startswith("https://") or "*" in origin:
        raise UsageError(f"{file}: {name[:200]!r} is no origin of one host with https: secrets are sent over TLS only")
    return origin


def _sign_in(name: str, given: Any, file: str) -> SignIn:
    where = f"{file}, {name[:200]}"
    if not isinstance(given, dict) or not given.keys() <= _KINDS or not isinstance(given.get("public", False), bool):
        raise UsageError(f"{where}: give `headers`, `cookies`, `basic`, and `public` as true or false")
    headers = _texts(given.get("headers", {}), where, "headers")
    cookies = _texts(given.get("cookies", {}), where, "cookies")
    basic = given.get("basic", "")
    if own := sorted(header for header in headers if header.lower() in _OF_THE_CLIENT):
        raise UsageError(f"{where}: the header {own[0]} is the client's own")
    if cookies:
        headers["Cookie"] = "; ".join(f"{cookie}={value}" for cookie, value in cookies.items())
    if basic:
        if not isinstance(basic, str) or ":" not in basic:
            raise UsageError(f"{where}: `basic` is the user's name and the password, with a colon between")
        headers["Authorization"] = f"Basic {base64.b64encode(basic.encode()).decode()}"
    if not headers:
        raise UsageError(f"{where}: there is no header, no cookie and no password")
    return SignIn(headers, given.get("public", False))


def _texts(given: Any, where: str, kind: str) -> dict[str, str]:
    """Return headers or cookies. Raises UsageError for a name or a value that could end a line or a cookie."""
    if not isinstance(given, dict):
        raise UsageError(f"{where}: `{kind}` are names with their values")
    for name, value in given.items():
        if not _NAME.fullmatch(name):
            raise UsageError(f"{where}: {name[:100]!r} is no name of one of the {kind}")
        is_cookie = kind == "cookies"
        if not isinstance(value, str) or not _VALUE.fullmatch(value) or (is_cookie and ";" in value):
            raise UsageError(f"{where}: the value of {name} in `{kind}` has characters that it may not have")
    return dict(given)
