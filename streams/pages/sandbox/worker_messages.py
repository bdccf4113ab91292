"""The requests to the sandbox and its answers, as plain values that cross a process boundary.

What reads pages is not imported here: only the sandbox's processes have it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import msgpack

from streams.pages.document.model import SignIn

TASKS = "streams.pages.sandbox.tasks"
"""The module with the tasks, which the sandbox's processes import."""
NORMALIZE = f"{TASKS}:normalize_page"
EXPLAIN = f"{TASKS}:explain_page"
SITEMAP = f"{TASKS}:read_urls"


def pack_page(body: bytes, url: str, headers: Mapping[str, str], version: int = 0) -> bytes:
    """Return a request. `version`: of the documents that are made, as the stage has it; 0: it makes none."""
    packed: bytes = msgpack.packb([url, dict(headers), body, version], use_bin_type=True)
    return packed


def unpack_fields(answer: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = msgpack.unpackb(answer, raw=False, strict_map_key=False)
    return fields


@dataclass(frozen=True, slots=True)
class OutLink:
    """A link to another page, canonical."""

    url: str
    text: str
    nofollow: bool
    in_content: bool


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """The sandbox's answer for a page: the encoded document, and the fields of the events that follow."""

    document: bytes
    content_hash: str
    title: str
    description: str
    language: str
    language_confidence: float
    canonical_url: str | None
    alternates: dict[str, str]
    """The canonical URLs of its versions in other languages, by their language tags."""
    redirect_url: str | None
    """The page to which a refresh leads within a few seconds."""
    directives: tuple[str, ...]
    text_chars: int
    blocks: int
    facts: dict[str, Any]
    typed: dict[str, str]
    """The facts for readers of results (`typed_facts`)."""
    quality: dict[str, float]
    """The quality of the page, with its parts."""
    sign_in: SignIn
    links: tuple[OutLink, ...]

    def to_fields(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        links = tuple(OutLink(**link) for link in fields.pop("links"))
        return cls(**{**fields, "directives": tuple(fields["directives"]), "links": links})
