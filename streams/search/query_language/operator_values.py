"""Readers of the operators' values: a reader returns the value as pages have it, or an empty string. Pure."""

import re

import ada_url

from streams.pages.text.language import language_tag

_NO_HOST = re.compile(r"[\s/\\?#@%\[\]<>^|]")
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*+(?::\d{{1,5}})?")
"""A host name has up to 253 characters (RFC 1035 section 2.3.4)."""
_USUAL_PORT = re.compile(r":(?:80|443)$")
_EXTENSION = re.compile(r"[a-z0-9]{1,8}")
_SCHEME = re.compile(r"^https?://", re.IGNORECASE)


def read_site(value: str) -> str:
    """Return a host with an optional path, as pages have them; empty if the value is no site."""
    address = _SCHEME.sub("", value).partition("#")[0].partition("?")[0].rstrip(",;!")
    host, slash, path = address.partition("/")
    host = ascii_host(host.removeprefix("*."))
    return f"{host}{slash}{path}".rstrip("/") if host else ""


def ascii_host(text: str) -> str:
    """Return the host as pages have it: lower case, in ASCII, with an unusual port; empty if the text is no host."""
    host = _USUAL_PORT.sub("", text.lower()).rstrip(".")
    if not host.isascii() and not _NO_HOST.search(host):
        try:
            host = ada_url.URL(f"https://{host}/").host
        except ValueError:
            return ""
    return host if _HOST.fullmatch(host) else ""


def read_language(value: str) -> str:
    """Return a language tag as documents have it, or `und`; empty if the value is no tag."""
    return "und" if value.lower() == "und" else language_tag(value)


def read_extension(value: str) -> str:
    """Return a file name's extension in lower case, without its dot; empty if the value is no extension."""
    lowered = value.lower().removeprefix(".")
    return lowered if _EXTENSION.fullmatch(lowered) else ""


def read_page_type(value: str) -> str:
    """Return the type of a page in lower case; empty if the value is no name."""
    return value.lower() if value.isascii() and value.isalpha() else ""


WISHES = ("recent", "technical", "firsthand")
"""The wishes that a query may have (`streams.search.ranking.wishes`)."""
MAX_STEPS = 3
_USUAL_STEPS = 2


def read_wish(value: str) -> str:
    """Return a wish with its steps: `technical:2` for `technical`, `technical:3` for `technical3`; empty for others."""
    name = value.lower().replace("-", "").rstrip("0123456789")
    steps = value[len(value.rstrip("0123456789")) :] or str(_USUAL_STEPS)
    is_known = name in WISHES and len(steps) == 1 and 1 <= int(steps) <= MAX_STEPS
    return f"{name}:{steps}" if is_known else ""


def read_words(value: str) -> str:
    """Return a word or phrase with single spaces between its words."""
    return " ".join(value.split())
