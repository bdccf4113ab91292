"""Finds titles that are the name of a site: pages of a host have one title, and each a heading of its own.

One page does not say so: a page `Tides` with the heading `Ports` may speak of tides. Four such pages, with four
headings, say that `Tides` is the site. What a host showed is kept in a few slots, so its size is bounded: a title has
one slot, and a slot belongs to the last title, or for good to a title that is a site's name.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from urllib.parse import urlsplit

from streams.caches import TimedCache
from streams.crawl.urls import host_of
from streams.statements.contexts import MAX_LABEL_WORDS, cut_after_words
from streams.statements.sandbox_tasks import Drafted
from streams.stores.protocols import Notes

MIN_HEADINGS = 4
"""Number of headings beside one title that make it the name of the site."""
SLOTS = 32
"""Number of titles that are remembered of a host."""
MAX_HOSTS = 500
"""Maximum number of hosts in memory, about 5 MB."""
FRESH_SECONDS = 300.0
"""Time after which a host is read again: another worker may have had its pages meanwhile."""
KEPT_SECONDS = 400 * 24 * 3600
"""Time after which what was seen is forgotten. Recurring visits see it again."""
_HASH_BYTES = 8


@dataclass(frozen=True, slots=True)
class _Seen:
    """A title, and some of the headings beside it, as hashes."""

    title: bytes
    headings: frozenset[bytes]

    @property
    def is_name(self) -> bool:
        return len(self.headings) >= MIN_HEADINGS


class SiteTitles:
    """The titles of hosts. A title is written from its second heading on: most titles are seen once."""

    def __init__(self, notes: Notes, monotonic: Callable[[], float]) -> None:
        self._notes = notes
        self._hosts: TimedCache[str, dict[int, _Seen]] = TimedCache(FRESH_SECONDS, MAX_HOSTS, monotonic)

    async def name_page(self, url: str, found: Drafted) -> Drafted:
        """Return a page's drafts, titled by the page's own heading if its title is the name of the site.

        The first pages of a host come before the evidence: they keep their titles until they are read again. The same
        page again changes nothing.
        """
        if not found.heading or urlsplit(url).path in ("", "/"):  # a home page is called as its site is
            return found
        return (
            retitled(found, found.heading) if await self._is_name(host_of(url), found.title, found.heading) else found
        )

    async def _is_name(self, host: str, title: str, heading: str) -> bool:
        slots = await self._read(host)
        key, own = _hash(title), _hash(heading)
        slot = key[0] % SLOTS
        known = slots.get(slot)
        if known is None or known.title != key:
            if known is None or not known.is_name:
                slots[slot] = _Seen(key, frozenset([own]))
            return False
        if not known.is_name and own not in known.headings:
            known = slots[slot] = _Seen(key, known.headings | {own})
            value = b"".join((key, *sorted(known.headings)))
            await self._notes.put(_shelf(host), str(slot), value, seconds=KEPT_SECONDS)
        return known.is_name

    async def _read(self, host: str) -> dict[int, _Seen]:
        kept = self._hosts.find(host)
        if kept is not None and kept.is_fresh:
            return kept.value
        stored = await self._notes.of_shelf(_shelf(host))
        kept = self._hosts.find(host)
        slots = {} if kept is None else kept.value
        for name, value in stored.items():
            title, *headings = (value[at : at + _HASH_BYTES] for at in range(0, len(value), _HASH_BYTES))
            seen, own = _Seen(title, frozenset(headings)), slots.get(int(name))
            if own is None or len(own.headings) < len(seen.headings):
                slots[int(name)] = seen
        self._hosts.keep(host, slots)
        return slots


def retitled(found: Drafted, title: str) -> Drafted:
    """Return the drafts with another title, at the beginning of each context in place of the former one."""
    former, own = (cut_after_words(text, MAX_LABEL_WORDS) for text in (found.title, title))
    drafts = []
    for draft in found.drafts:
        rest = tuple(part for part in draft.context if part not in (former, own))
        drafts.append(replace(draft, context=rest if draft.text == own else (own, *rest)))
    return replace(found, title=title, drafts=tuple(drafts))


def _hash(text: str) -> bytes:
    return blake2b(" ".join(text.split()).casefold().encode(errors="surrogatepass"), digest_size=_HASH_BYTES).digest()


def _shelf(host: str) -> str:
    return f"titles of {host}"
