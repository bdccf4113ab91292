"""The order of URLs within a host's queue: own URLs before those that strangers link to; among strangers, turns. Pure.

A URL's place in the queue is a time. Seeds, and links and sitemaps of the site itself, get a head start: they come
before all URLs of strangers that wait for less than that time. Other names below the site's domain are strangers, too:
on a platform they are other people's. The head start is longer for a URL that promises more: by the priority of its
sitemap, by a link from another site, by a true interval of changes. All of it is known when the URL is queued, so it
costs no read. So a stranger's links delay nobody's own pages, and still get their turn. The URLs of each linking domain
stand apart from each other by the host's delay: domains take turns, whatever number of links one has. The URLs of all
strangers together are bounded, however many domains there are: in the host's budget, and in the queue, where after a
first MAX_WAITING one is queued for each five delays.

Since the sum is bounded, an owner of many domains can only make the shares of other domains smaller. A domain that
waited for its turn always gets one URL. The domains after the first MAX_DOMAINS share turns by their hash.
"""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import xxhash

from schemas.crawl import PageDiscovered
from streams.allowed_origins import AllowedOrigins
from streams.crawl.domains import may_be_one_owner, surely_one_owner
from streams.crawl.host_quality import standing
from streams.crawl.sitemap_entries import MIDDLE_PRIORITY
from streams.crawl.urls import host_of

SECOND = 1_000_000
HEAD_START_SECONDS = 3_600
"""Head start of own URLs before the URLs of strangers (seconds)."""
DEPTH_SECONDS = 120
"""Decrease of the head start with each hop from the seed after the first one (seconds)."""
MIN_HEAD_START_SECONDS = 1_200
"""Minimum head start of own URLs (seconds)."""
PRIORITY_HOPS = 5.0
"""Hops that the highest priority of a sitemap gains, and that the lowest one loses."""
LINKED_HOPS = 5.0
"""Hops that an own URL gains if another site links to it, too."""
CHANGING_HOPS = 5.0
"""Hops that a URL gains if its page changes each day, by a sitemap of a host whose stated intervals are true."""
CHANGING_SECONDS = 86_400
"""Maximum time between two changes of such a page (seconds)."""
MAX_WAITING = 3_000
"""Maximum number of URLs of strangers that a host's queue takes at once: with a delay of a second, they are fetched
within the head start. If only one domain links to the host, it gets two thirds of them."""
MIN_WAITING = 100
"""The same at a slow host, which answers fewer requests than that within the head start."""
DOMAIN_SHARE = 2
"""Maximum number of a domain's URLs that wait, as a multiple of the number of free places."""
MAX_DOMAINS = 64
"""Maximum number of linking domains with turns of their own at a host. It is also the number of shared turns."""
STRANGER_SHARE = 0.2
"""Maximum share of a host's budget in a crawl that is spent on URLs that strangers link to. It is also the share of the
host's requests that is reserved for them in the long run."""
MIN_TURN = 0.25
"""Distance of two URLs of a linking domain with the highest rank, as a share of the host's delay: it has four turns."""
MIN_GAP_MICROS = 100_000
"""Minimum distance of two URLs of one linking domain in the queue (microseconds)."""
SHARED = "#"
"""First character of the name of a shared turn. No domain begins with it."""
SPENT = ""
"""Name of the number beside the turns in a host's row: until when the places of strangers are spent."""


def finder_of(event: PageDiscovered, speakers: Iterable[str], origins: AllowedOrigins) -> str:
    """Return the host that led to the URL, or "" if that is surely its owner's.

    Seeds are the operator's choice, and so is where a seed redirects. All names below one domain that the operator
    opened for the crawl (`origins`) are one owner's. `speakers`: what speaks for the URL's host, since its
    robots.txt names sitemaps there (sitemaps.org, cross submits; `speaker_of`).
    """
    is_chosen = event.depth == 0 and event.why in ("link", "redirect", "canonical")
    if event.why == "seed" or not event.referrer or is_chosen:
        return ""
    finder = host_of(event.referrer)
    is_opened = origins.names_origin_of(event.url) and origins.names_origin_of(event.referrer)
    if surely_one_owner(finder, event.host) or (is_opened and may_be_one_owner(finder, event.host)):
        return ""
    return "" if any(_is_of_speaker(event.referrer, one) for one in speakers) else finder


def speaker_of(sitemap: str) -> str:
    """Return what speaks for a host whose robots.txt names this sitemap on another host: the sitemap's folder.

    It is the sitemap itself where people share the folder: at the top of a server, and where a query says whose it is.
    """
    folder = sitemap.partition("?")[0].rpartition("/")[0] + "/"
    return sitemap if "?" in sitemap or not _is_folder(folder) else folder


def _is_of_speaker(url: str, speaker: str) -> bool:
    """Return whether what speaks for a host has this URL."""
    return url.startswith(speaker) if _is_folder(speaker) else url == speaker


def _is_folder(speaker: str) -> bool:
    """Return whether this is a folder of a server, and neither one file nor the whole server."""
    parts = urlsplit(speaker)
    return not parts.query and parts.path.endswith("/") and parts.path.strip("/") != ""


def as_of_finder(event: PageDiscovered, finder: str) -> PageDiscovered:
    """Return the event as it counts: a page in the sitemap of somebody else is a link, without dates and priorities."""
    if not finder or event.why != "sitemap" or event.purpose != "page":
        return event
    return event.model_copy(update={"why": "link", "modified": (), "change_seconds": (), "priorities": ()})


def turn_gap(gap: int, rank: float) -> int:
    """Return the distance of two URLs of a linking domain (microseconds): smaller for a site that many link to."""
    return round(gap * (1 - (1 - MIN_TURN) * standing(rank)))


def head_start(depth: int, gained: float = 0.0) -> int:
    """Return the head start of an own URL, N hops from the seed, less the hops that it gains (microseconds)."""
    hops = max(depth - 1, 0) - gained
    return round(max(HEAD_START_SECONDS - hops * DEPTH_SECONDS, MIN_HEAD_START_SECONDS) * SECOND)


def gained_hops(event: PageDiscovered, *, is_linked: bool, is_changing: bool) -> float:
    """Return the hops that an own URL gains. `is_linked`: another site links to it. `is_changing`: it changes daily."""
    priority = event.priorities[0] if event.priorities else MIDDLE_PRIORITY
    by_sitemap = (priority - MIDDLE_PRIORITY) / MIDDLE_PRIORITY * PRIORITY_HOPS
    return by_sitemap + LINKED_HOPS * is_linked + CHANGING_HOPS * is_changing


def strangers_budget(limit: int) -> int:
    """Return how many pages of a host's budget may be spent on URLs that strangers link to: one at least."""
    return max(round(limit * STRANGER_SHARE), 1)


class Turns:
    """The place of the last URL of each linking domain, and how many places all of them have left, for one host."""

    def __init__(self, row: Mapping[str, int] | None = None) -> None:
        self.last = dict(row or {})
        self.spent = self.last.pop(SPENT, 0)
        """A time that moves on with each URL of a stranger. It is as far ahead as places are in use."""

    def next(self, domain: str, now: int, gap: int, rank: float = 1.0) -> int | None:
        """Return the place of the next URL of a domain with this rank. None: too many URLs of strangers wait.

        `gap` is the delay of the host (microseconds).
        """
        gap = max(gap, MIN_GAP_MICROS)
        own_gap = max(turn_gap(gap, rank), MIN_GAP_MICROS)
        every = round(gap / STRANGER_SHARE)
        turn = domain if domain in self.last else self._new_turn(domain, now, every)
        last = self.last.get(turn)
        free = max_waiting(gap) - max(self.spent - now, 0) // every
        waiting = 0 if last is None else max(last - now, 0) // own_gap
        is_turn = last is None or last + every * len(self.last) <= now
        if not is_turn and (free <= 0 or waiting >= DOMAIN_SHARE * free):
            return None
        place = now if last is None else max(now, last + own_gap)
        self.last[turn] = place
        self.spent = max(self.spent, now) + every
        return place

    def row(self) -> dict[str, int]:
        """Return the turns as they are stored."""
        return {**self.last, SPENT: self.spent} if self.spent else self.last

    def _new_turn(self, domain: str, now: int, every: int) -> str:
        """Forget turns of which nothing waits, and return the name of the domain's turn: its own, or a shared one."""
        turn_time = every * len(self.last)
        if min(self.last.values(), default=now) + turn_time <= now:
            self.last = {turn: at for turn, at in self.last.items() if at + turn_time > now}
        if len(self.last) < MAX_DOMAINS or len([turn for turn in self.last if turn[:1] != SHARED]) < MAX_DOMAINS:
            return domain
        return f"{SHARED}{xxhash.xxh3_64_intdigest(domain.encode()) % MAX_DOMAINS}"


def max_waiting(gap: int) -> int:
    """Return how many URLs of strangers a host's queue takes at once: those that are fetched within the head start."""
    return min(max(HEAD_START_SECONDS * SECOND // gap, MIN_WAITING), MAX_WAITING)
