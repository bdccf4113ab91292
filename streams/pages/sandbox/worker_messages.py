"""The sandbox's answer for a page, as plain values that cross a process boundary: document, facts and links."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from streams.allowed_origins import OwnOrigin
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.pages.document.codec import encode_document
from streams.pages.formats.reading import convert, find_kind
from streams.pages.metadata.typed_facts import typed_facts
from streams.pages.normalize import Normalized, normalize, normalize_file
from streams.pages.quality.assessment import assess

MAX_FOLLOWED = 1_000
"""Maximum number of a page's links in events."""
MAX_ANCHOR_CHARS = 300
"""Maximum length of a link's text (characters)."""
MAX_TITLE_CHARS = 500
"""Maximum length of a title (characters)."""
MAX_DESCRIPTION_CHARS = 2_000
"""Maximum length of a description (characters)."""


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
    directives: tuple[str, ...]
    text_chars: int
    blocks: int
    facts: dict[str, Any]
    typed: dict[str, str]
    """The facts for readers of results (`typed_facts`)."""
    quality: dict[str, float]
    """The quality of the page, with its parts."""
    links: tuple[OutLink, ...]

    def to_fields(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        links = tuple(OutLink(**link) for link in fields.pop("links"))
        return cls(**{**fields, "directives": tuple(fields["directives"]), "links": links})


def normalize_to_outcome(
    body: bytes,
    *,
    url: str,
    headers: Mapping[str, str],
) -> PageOutcome:
    """Normalize a page or file, and make its URLs canonical. Raises Refused."""
    normalized = read_document(body, url=url, headers=headers)
    document = normalized.document
    return PageOutcome(
        document=encode_document(document),
        content_hash=normalized.content_hash,
        title=document.title[:MAX_TITLE_CHARS],
        description=document.description[:MAX_DESCRIPTION_CHARS],
        language=document.language,
        language_confidence=document.language_confidence,
        canonical_url=_canonical(normalized.canonical, url) if normalized.canonical else None,
        directives=normalized.directives,
        text_chars=len(document.text),
        blocks=len(document.blocks),
        facts=document.facts,
        typed=typed_facts(document.facts.get("structured") or ()),
        quality=assess(document, normalized.counts).to_fields(),
        links=_out_links(normalized, url),
    )


def read_document(body: bytes, *, url: str, headers: Mapping[str, str]) -> Normalized:
    """Return the document of a page or file, whatever its format. `headers` have lower-case names. Raises Refused."""
    kind = find_kind(body, headers, url)
    if kind == "html":
        return normalize(body, url=url, headers=headers)
    return normalize_file(convert(kind, body, headers, url), kind=kind, url=url, headers=headers)


def _canonical(target: str, page: str) -> str | None:
    try:
        return canonicalize(target, OwnOrigin(page))
    except InvalidUrl:
        return None


def _out_links(normalized: Normalized, url: str) -> tuple[OutLink, ...]:
    """Return one link per target, first links of the main content, at most MAX_FOLLOWED."""
    found: dict[str, OutLink] = {}
    links = sorted(normalized.document.links, key=lambda link: not link.in_content)
    for link in links:
        target = _canonical(link.url, url)
        if target is None or target == url or target in found:
            continue
        found[target] = OutLink(target, link.text[:MAX_ANCHOR_CHARS], link.nofollow, link.in_content)
        if len(found) == MAX_FOLLOWED:
            break
    return tuple(found.values())
