"""Makes the answer for a page, in a process of the sandbox: its document, facts and links."""

from collections.abc import Mapping
from dataclasses import replace

from streams.allowed_origins import OwnOrigin
from streams.crawl.urls import InvalidUrl, canonicalize
from streams.pages.document.codec import encode_document
from streams.pages.formats.reading import convert, find_kind
from streams.pages.metadata.typed_facts import typed_facts
from streams.pages.normalize import Normalized, normalize, normalize_file
from streams.pages.quality import assess
from streams.pages.sandbox.worker_messages import OutLink, PageOutcome

MAX_FOLLOWED = 1_000
"""Maximum number of a page's links in events."""
MAX_ANCHOR_CHARS = 300
"""Maximum length of a link's text (characters)."""
MAX_TITLE_CHARS = 500
"""Maximum length of a title (characters)."""
MAX_DESCRIPTION_CHARS = 2_000
"""Maximum length of a description (characters)."""


def normalize_to_outcome(
    body: bytes,
    *,
    url: str,
    headers: Mapping[str, str],
    version: int = 0,
) -> PageOutcome:
    """Normalize a page or file, and make its URLs canonical. Raises Refused."""
    normalized = read_document(body, url=url, headers=headers)
    document = replace(normalized.document, version=version)
    return PageOutcome(
        document=encode_document(document),
        content_hash=normalized.content_hash,
        title=document.title[:MAX_TITLE_CHARS],
        description=document.description[:MAX_DESCRIPTION_CHARS],
        language=document.language,
        language_confidence=document.language_confidence,
        canonical_url=_canonical(normalized.canonical, url) if normalized.canonical else None,
        alternates={
            language: target for language, found in normalized.alternates.items() if (target := _canonical(found, url))
        },
        redirect_url=_canonical(normalized.redirect, url) if normalized.redirect else None,
        directives=normalized.directives,
        text_chars=len(document.text),
        blocks=len(document.blocks),
        facts=document.facts,
        typed=typed_facts(document.facts.get("structured") or ()),
        quality=assess(document, normalized.counts).to_fields(),
        sign_in=normalized.sign_in,
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
