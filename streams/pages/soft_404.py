"""Soft 404s: pages with the status 200 that say that they do not exist.

The frontier asks a host for a name that can't exist. If the host sends a page for it, each page of the host is compared
with that page here: the words of both main contents, without the words of either URL, which such pages often repeat.
Only a host's own answers decide on its pages. Its first page is never a soft 404: many hosts send it for all names.

Not found: pages whose text differs for each name by more than a fifth, and texts with fewer than MIN_SHINGLES shingles.
"""

from streams.allowed_origins import origin_of
from streams.caches import RecentCache
from streams.errors import PoisonError
from streams.pages.document.codec import decode_document
from streams.pages.sandbox.pool import ParsePool
from streams.pages.text.tokens import words
from streams.sketches import jaccard, shingles, word_hashes
from streams.stores.protocols import Blobs

MIN_LIKENESS = 0.8
"""Minimum Jaccard similarity of a page and the page for a missing name, by their shingles."""
MIN_SHINGLES = 3
"""Minimum number of different shingles of the page for a missing name: fewer words say too little."""
MAX_CHARS = 20_000
"""Maximum number of characters of a text that are compared."""
MAX_PAGES = 256
"""Maximum number of pages for missing names in memory."""


def likeness(text: str, url: str, missing_text: str) -> float:
    """Return how alike a page is to the page that its host sends for a missing name, from 0 to 1."""
    named = frozenset(words(url))
    missing = shingles(word_hashes(_other_words(missing_text, named)))
    if len(missing) < MIN_SHINGLES:
        return 0.0
    return jaccard(shingles(word_hashes(_other_words(text, named))), missing)


def _other_words(text: str, named: frozenset[str]) -> list[str]:
    return [word for word in words(text[:MAX_CHARS]) if word not in named]


class MissingPages:
    """The texts of the pages that hosts send for missing names, by their blob."""

    def __init__(self, blobs: Blobs, pool: ParsePool) -> None:
        self._blobs = blobs
        self._pool = pool
        self._texts: RecentCache[str, str] = RecentCache(MAX_PAGES)

    async def likeness(self, document: bytes, url: str, missing_ref: str | None) -> float:
        """Return how alike a page of a host is to the host's page for a missing name. 0 if there is none."""
        if missing_ref is None or url == f"{origin_of(url)}/":
            return 0.0
        return likeness(decode_document(document).text, url, await self._text(missing_ref, origin_of(url)))

    async def _text(self, ref: str, origin: str) -> str:
        """Return the main content of the page, or "" if it can't be read any more."""
        text = self._texts.get(ref)
        if text is None:
            try:
                outcome = await self._pool.parse(await self._blobs.get(ref), url=f"{origin}/", headers={})
                text = decode_document(outcome.document).text[:MAX_CHARS]
            except PoisonError:  # it is no page, or the blob is missing
                text = ""
            self._texts.put(ref, text)
        return text
