"""The fetch stage: PageScheduled -> one HTTP GET -> PageFetched.

A scheduled event may be delivered twice. The answer to a lease is stored in the page's record before it is sent, so
the second delivery sends the same event again, without a second request. An expired lease is not fetched at all: the
frontier has queued the page for another attempt, and a late request would ignore the host's pace. A page that was
removed on request is not fetched either. A request that would come too soon for its host, domain or address waits, or
is sent back to the frontier (`shared_pace`).
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import structlog

from schemas import Event, InvalidEvent, PageFetched, PageScheduled
from schemas.crawl import Outcome
from schemas.envelope import micros_from_utc, utc_from_micros
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.audiences import EVERYBODY, Audiences
from streams.crawl.content_signals import is_expired, with_signals_of_host
from streams.crawl.domains import may_be_one_owner
from streams.crawl.exchange import encode_exchange
from streams.crawl.fetch.http import Answer
from streams.crawl.fetch.outcomes import Verdict
from streams.crawl.fetch.pace import HostLoad, Window, windows_of
from streams.crawl.fetch.shared_pace import SharedPace
from streams.crawl.fetch.sign_ins import SignIns
from streams.crawl.fetch.thread import FetchThread
from streams.crawl.last_content import is_away, last_content_of, with_last_content
from streams.crawl.scope import CrawlScope
from streams.crawl.urls import host_of
from streams.runtime.agent import Agent, Delivery, Emit
from streams.settings import CrawlSettings, Settings
from streams.stores.blobs import PartWriter, have_same_content
from streams.stores.opener import Stores
from streams.stores.page_record import Fetched, Moved, PageRecord
from streams.stores.removals import is_held_back, was_erased, was_removed_by_program

log = structlog.get_logger(__name__)

REMOVED = Verdict("refused", error="the page was removed on request. To let it be fetched: riffle remove --undo URL")
"""The outcome of a page that was removed on request. No HTTP request is made, and nothing is stored."""
REMOVED_BY_PROGRAM = Verdict(
    "refused", error="a program removed the page. It comes back when a program writes it again"
)
"""The same of a page that a program removed."""
NOT_PRIVATE = Verdict(
    "guarded",
    error="its host has a sign-in, but no private site, so everybody would find its pages. Set "
    "RIFFLE_ACCESS__PRIVATE_SITES=true and give `riffle sites add NAME --host HOST --private`, or say `public` in the "
    "file of RIFFLE_CRAWL__SIGN_INS_FILE",
)
"""The outcome of a page behind a sign-in that would not be private. No request is made."""
NEW_STATES: frozenset[Outcome] = frozenset({"ok", "redirect", "gone"})
"""The outcomes that replace or remove the content of a page. After any other one, the last content stays indexed."""
WISHES = ("content-signal", "content-usage", "tdm-reservation", "x-robots-tag")
"""The headers with wishes of the publisher."""

RARE_MICROS = 86_400 * 1_000_000
"""Minimum time since the last visit of a page whose contents are stored with its record (microseconds). A sweep deletes
what is no longer referred to after some 38 days: at most 115 rows, 3 a visit."""
MAX_WAIT_SECONDS = 0.5
"""Maximum time that a request waits for its turn here (seconds). A longer wait would hold a slot of the stage."""


class FetchAgent(Agent):
    """The fetch stage's agent: it makes the requests that the frontier scheduled."""

    def __init__(
        self,
        settings: CrawlSettings,
        stores: Stores,
        now: Callable[[], int] = now_micros,
        *,
        shares: bool = False,
        has_private_sites: bool = False,
    ) -> None:
        """`shares`: workers that render pages ask hosts, too, or gateways that fetch pages at once.

        `has_private_sites`: pages of private sites are found only by keys of the site.
        """
        self._settings = settings
        self._stores = stores
        self._now = now
        self._shares = shares
        self._pace = SharedPace(stores.pace_holds, str(uuid4()), time.monotonic)
        self._load = HostLoad()
        self._sign_ins = SignIns(settings.sign_ins_file)
        self._audiences = Audiences(stores.api_keys, has_private_sites, time.monotonic)
        self._starting = asyncio.Lock()
        self._thread: FetchThread | None = None

    async def start(self, emit: Emit) -> None:
        self._thread = await FetchThread.start(self._settings)

    async def assigned(self, partitions: frozenset[int]) -> None:
        self._pace.is_alone = len(partitions) == self.partition_count and not self._shares

    async def stop(self) -> None:
        await self._pace.release_in_time()
        if self._thread:
            await self._thread.stop()
            self._thread = None

    def measurements(self) -> Mapping[str, float]:
        return {"fetch_politeness_violations": self._load.violations}

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        match delivery.event:
            case PageScheduled() as scheduled if scheduled.region != self._settings.region:
                return []  # the fetchers of its region read it, too
            case PageScheduled() as scheduled:
                return await self._fetch(scheduled, delivery.at)
        raise InvalidEvent(f"the fetch stage does not handle {type(delivery.event).__name__}")

    async def _fetch(self, scheduled: PageScheduled, at: int) -> Sequence[Event]:
        known = await self._stores.pages.get(scheduled.page_id)
        why = REMOVED if is_held_back(known) else REMOVED_BY_PROGRAM if was_removed_by_program(known) else None
        if scheduled.purpose == "page" and why:
            held_back = _event(scheduled, Answer(why), None, scheduled.generation or self._now())
            return [held_back.model_copy(update={"removed_on_request": True})]
        if known.fetched.lease_id == scheduled.lease_id:  # a redelivery
            return [known.fetched.event()]
        bound = round(self._settings.clock_bound_seconds * 1_000_000)
        if self._now() >= micros_from_utc(scheduled.lease_until) + bound:
            log.info("the lease expired before the fetch", url=scheduled.url, lease_id=str(scheduled.lease_id))
            fields = {"outcome": "timeout", "lease_expired": True, "error": "the lease expired before the fetch"}
            return [_answer_without_request(scheduled, self._now(), fields)]
        sign_in = self._sign_ins.of(scheduled.url)
        if sign_in and not sign_in.is_public and await self._audiences.of(scheduled.url) == EVERYBODY:
            return [_event(scheduled, Answer(NOT_PRIVATE), None, scheduled.generation or self._now())]
        thread = await self._started()
        if postponed := await self._wait_for_turn(scheduled, thread):
            error = f"its host, domain or address was asked a moment ago; it can be asked in {postponed:.3g} s"
            fields = {"outcome": "rate_limited", "postponed_seconds": round(postponed, 3), "error": error}
            return [_answer_without_request(scheduled, self._now(), fields)]
        answer = await self._get(_with_valid_conditions(scheduled, known), thread, sign_in.headers if sign_in else None)
        generation = scheduled.generation or self._now()
        with_record = _is_rare(scheduled, known, generation)
        writer = PartWriter(self._stores.blobs, self._stores.pages, scheduled.page_id, with_record=with_record)
        body_ref = None if answer.body is None else await writer.add(answer.body, known.fetched.body_ref)
        exchange_ref = await _keep_exchange(answer, writer)
        fetched = _event(scheduled, answer, body_ref, generation, exchange_ref)
        is_redirect, former_ref = fetched.outcome == "redirect", known.fetched.body_ref
        is_other = former_ref is not None and not have_same_content(former_ref, body_ref)
        if fetched.purpose == "page" and (
            fetched.outcome not in NEW_STATES or (is_redirect and is_away(fetched, known))
        ):
            fetched = _read_again(with_last_content(fetched, known.fetched), known, scheduled.not_found_ref)
        elif fetched.purpose == "page" and fetched.outcome == "ok" and is_other:
            fetched = fetched.model_copy(update={"last_content": last_content_of(known)})
        await writer.put(Fetched.of_event(fetched), at)
        if fetched.redirect_to and _is_move(fetched):
            part = Moved(url=fetched.redirect_to, generation=fetched.generation, source=fetched.url)
            await self._stores.pages.put(page_id(fetched.redirect_to), part, at)
        return [fetched]

    async def _started(self) -> FetchThread:
        async with self._starting:
            if self._thread is None or self._thread.has_ended:
                self._thread = await FetchThread.start(self._settings)
            return self._thread

    async def _get(self, scheduled: PageScheduled, thread: FetchThread, sign_in: Mapping[str, str] | None) -> Answer:
        with self._load.request(scheduled.host):
            return await thread.get(scheduled, sign_in)

    async def _wait_for_turn(self, scheduled: PageScheduled, thread: FetchThread) -> float:
        """Wait until the request may begin, and return 0; or return for how long it is sent back (seconds)."""
        windows = await self._windows(scheduled, thread)
        until = time.monotonic() + MAX_WAIT_SECONDS
        while wait := await self._pace.take(windows):
            if time.monotonic() + wait > until:
                return self._pace.postpone(windows, wait)
            await asyncio.sleep(wait)
        return 0.0

    async def _windows(self, scheduled: PageScheduled, thread: FetchThread) -> Sequence[Window]:
        """Return the windows of a request. A redirected robots.txt is asked for at the pace of its target's host."""
        host = host_of(scheduled.url)
        delay = scheduled.delay_seconds if host == scheduled.host else None
        if not (self._settings.delay_seconds or delay):
            return []
        return windows_of(host, await thread.addresses(scheduled.url), self._settings, delay)


async def _keep_exchange(answer: Answer, writer: PartWriter) -> str | None:
    """Store the exchange, for `riffle export warc`. Returns its reference."""
    if answer.exchange is None or answer.body is None:
        return None
    return await writer.add(encode_exchange(answer.exchange))


def _is_rare(scheduled: PageScheduled, known: PageRecord, generation: int) -> bool:
    """Return whether the partition of a page stays small if all its contents are in it, until a sweep deletes them.

    Files of hosts, such as robots.txt, are equal on many hosts, and stored once.
    """
    return scheduled.purpose == "page" and generation - known.fetched.generation >= RARE_MICROS


def _answer_without_request(scheduled: PageScheduled, now: int, fields: dict[str, Any]) -> PageFetched:
    return PageFetched(**_request_fields(scheduled), **fields, retryable=True, generation=scheduled.generation or now)


def _request_fields(scheduled: PageScheduled) -> dict[str, Any]:
    """Return what an answer repeats of the event that asked for it."""
    names = ("page_id", "url", "host", "purpose", "lease_id", "attempt", "redirects")
    return {**{name: getattr(scheduled, name) for name in names}, **CrawlScope.of(scheduled).fields()}


def _event(
    scheduled: PageScheduled, answer: Answer, body_ref: str | None, generation: int, exchange_ref: str | None = None
) -> PageFetched:
    verdict = answer.verdict
    return PageFetched(
        **_request_fields(scheduled),
        outcome=verdict.outcome,
        retryable=verdict.retryable,
        generation=generation,
        status=answer.status,
        headers=with_signals_of_host(answer.headers, scheduled.content_signal, tdm_reserved=scheduled.tdm_reserved),
        body_ref=body_ref,
        body_bytes=len(answer.body or b""),
        not_found_ref=scheduled.not_found_ref,
        exchange_ref=exchange_ref,
        redirect_to=verdict.redirect_to,
        error=verdict.error,
        elapsed_ms=round(answer.elapsed_ms, 3),
    )


def _with_valid_conditions(scheduled: PageScheduled, known: PageRecord) -> PageScheduled:
    """Return the URL with the validators of the content that is stored: a 304 is joined with that.

    If the content has left the stores, or was refused because of a removal on request that was withdrawn since, a 304
    would bring nothing back. And the lease of an earlier answer may have
    ended before the frontier read it: then the frontier still has the validators of the content before.
    """
    is_stored = known.fetched.body_ref and not was_erased(known, known.fetched.generation)
    was_removed = known.deduplicated.verdict == "removed" and known.deduplicated.reason == "request"
    headers = known.fetched.headers if is_stored and not was_removed else {}
    kept = {
        name: value
        for name, header in (("etag", "etag"), ("last_modified", "last-modified"))
        if (value := getattr(scheduled, name)) == headers.get(header)
    }
    return scheduled.model_copy(update={"etag": None, "last_modified": None, **kept})


def _is_move(fetched: PageFetched) -> bool:
    """Return whether a page redirects to another of the same owner, which has the age of its text from then on."""
    is_page = fetched.outcome == "redirect" and fetched.purpose == "page"
    return is_page and may_be_one_owner(host_of(fetched.redirect_to or ""), host_of(fetched.url))


def _read_again(fetched: PageFetched, known: PageRecord, not_found_ref: str | None) -> PageFetched:
    """Return a 304 as an answer with the last content if the stages must read that again.

    The publisher has other wishes: so a page that turns `noindex` only by its header leaves the index, too. Or the date
    after which the page asked not to be shown is past. Or the host has another page for a missing name than the content
    was compared with: so a soft 404 that was indexed before its host was asked leaves the index.
    """
    former = known.fetched
    has_other_wishes = any(fetched.headers.get(name) != former.headers.get(name) for name in WISHES)
    has_expired = is_expired(known.normalized.directives, utc_from_micros(fetched.generation))
    is_unjudged = not_found_ref not in (None, former.not_found_ref)
    must_be_read = has_other_wishes or has_expired or is_unjudged
    if fetched.outcome != "not_modified" or not fetched.body_ref or not must_be_read:
        return fetched
    return fetched.model_copy(update={"outcome": "ok", "not_found_ref": not_found_ref})


async def build(settings: Settings, stores: Stores) -> Agent:
    """Make the stage's agent (called by the runtime)."""
    shares = settings.render.enabled or settings.access.fetch_now != "nobody"
    return FetchAgent(settings.crawl, stores, shares=shares, has_private_sites=settings.access.private_sites)
