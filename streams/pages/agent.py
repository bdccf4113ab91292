"""The normalize stage: makes a document of a fetched page, announces its links, and removes soft 404s and noindex."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from schemas import Event, LinkFound, PageDiscovered, PageFetched, PageNormalized, PageRemoved, PageSettled
from schemas.envelope import utc_from_micros
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins
from streams.clock import now_micros
from streams.crawl.audiences import EVERYBODY, Audiences
from streams.crawl.content_signals import is_expired
from streams.crawl.frontier.host_caches import HostOrders
from streams.crawl.last_content import may_stay, with_last_content
from streams.errors import MissingBlob, PageErased, Refused
from streams.pages.document.codec import decode_document
from streams.pages.link_events import AnnouncedLinks, discoveries, feeds, found_links, link_groups
from streams.pages.parse.robots_directives import IS_STYLED, with_robot
from streams.pages.replaced import is_gone, is_protected
from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import PageOutcome
from streams.pages.sitemap_events import note_feed, sitemap_events
from streams.pages.soft_404 import MIN_LIKENESS, MissingPages
from streams.robot_name import ROBOT, ProductToken
from streams.runtime.agent import Agent, Delivery, Emit
from streams.sandbox.limits import EXHAUSTING
from streams.settings import Settings
from streams.stores.blobs import PartWriter, is_of_page
from streams.stores.opener import Stores
from streams.stores.page_record import Fetched, Normalized, PageRecord
from streams.stores.protocols import LinkGroup
from streams.stores.removals import blob_of_page

_NOINDEX = "the page asks not to be indexed"
_SOFT_404 = "a soft 404: the host sends the same page for a name that can't exist"
_NOINDEX_EXPIRED = "the page asks not to be shown any more (unavailable_after)"


class NormalizeAgent(Agent):
    """The agent of the stage. It writes the document, then the record (`normalized`), and returns the events."""

    def __init__(
        self,
        stores: Stores,
        pool: ParsePool,
        monotonic: Callable[[], float] = time.monotonic,
        allowed: AllowedOrigins = NO_ORIGINS,
        robot: ProductToken = ROBOT,
        now: Callable[[], int] = now_micros,
        *,
        has_private_sites: bool = False,
    ) -> None:
        """`robot` is the name under which pages have directives for this crawler."""
        self._audiences = Audiences(stores.api_keys, has_private_sites, monotonic)
        self._robot = robot
        self._orders = HostOrders(stores.frontier, now)
        self._stores = stores
        self._pool = pool
        self._allowed = allowed
        self._announced = AnnouncedLinks(monotonic)
        self._missing = MissingPages(stores.blobs, pool)

    async def start(self, emit: Emit) -> None:
        self._pool.start()

    async def stop(self) -> None:
        await self._pool.close()

    async def handle(self, delivery: Delivery) -> Sequence[Event]:
        event = delivery.event
        assert isinstance(event, PageFetched)
        if event.purpose == "sitemap" and event.outcome == "ok" and event.body_ref:
            # The pages first: a crawl must not seem to be done once the sitemap is settled.
            changed, events = await self._read_sitemap(event, delivery.at)
            verdict = "changed" if changed else "unchanged"
            return [*events, PageSettled.following(event, purpose="sitemap", verdict=verdict)]
        if event.purpose != "page" or event.outcome != "ok" or event.body_ref is None:
            return []
        known = await self._record_of_import(event)
        if known and known.normalized.generation > event.generation:
            return [PageSettled.following(event, verdict="unchanged")]
        try:
            body = await blob_of_page(self._stores.blobs, self._stores.pages, event, event.body_ref)
        except PageErased:
            return [_settled_event(event)]
        try:
            outcome = await self._pool.parse(body, url=event.url, headers=self._headers_of(event))
        except Refused as refusal:
            return await self._refuse(event, refusal, delivery.at)
        if known and known.fetched.generation <= event.generation:
            # As a fetch does: sweeps keep the body of an imported page, and its host can come back.
            await self._stores.pages.put(event.page_id, Fetched.of_event(event), delivery.at)
        # After the record: who blocks a host writes the order, waits until all processes follow it, and then reads the
        # records. So an answer that does not see the order here is seen there.
        order = await self._orders.of(event.host)
        if order.blocked:
            return [_removed_event(event, "blocked", order.block_reason), _settled_event(event)]
        if await self._is_in_place(event, outcome):
            return await self._keep_content(event, outcome, delivery.at)
        audience = await self._audiences.of(event.url)
        if await self._missing.likeness(outcome.document, event.url, event.not_found_ref) >= MIN_LIKENESS:
            # Nobody follows the links of such a page: each name that can't exist would lead to them.
            await self._store(event, outcome, audience, delivery.at)
            return [_removed_event(event, "gone", _SOFT_404), PageSettled.following(event, verdict="soft_404")]
        noindex = _find_noindex(event, outcome)
        # What a private page links to is known to its readers only: it says nothing about the linked page.
        has_edges = not noindex and audience == EVERYBODY
        found = list(found_links(event, outcome, self._allowed, has_edges=has_edges))
        reference = await self._store(event, outcome, audience, delivery.at, link_groups(found))
        # A feed that is linked to, too, is read as a feed: so the feeds come before the links.
        named: list[PageDiscovered | LinkFound] = [
            *feeds(event, outcome, self._allowed),
            *discoveries(event, outcome, self._allowed),
            *found,
        ]
        links = self._announced.drop_announced(named, delivery.envelope.id)
        # The links first: a crawl must not seem to be done once the page is settled, and the links that the page has no
        # more are looked for when `pages.normalized` comes.
        if noindex:  # the page ends here, so this stage settles its fetch. Dedup settles all other pages
            return [*links, _removed_event(event, "noindex", noindex), _settled_event(event)]
        return [*links, _normalized_event(event, outcome, reference, audience)]

    def _headers_of(self, event: PageFetched) -> dict[str, str]:
        """Return the headers with what the parser needs to know beside them."""
        return with_robot(event.headers, self._robot) | ({IS_STYLED: "1"} if event.rendered else {})

    async def _is_in_place(self, event: PageFetched, outcome: PageOutcome) -> bool:
        """Return whether a sign-in page or a refresh came in place of the page's content, which stays for now."""
        if not (outcome.sign_in == "form" or outcome.redirect_url) or event.last_content is None:
            return False
        record = await self._stores.pages.get(event.page_id)
        known = record.normalized
        if known.generation >= event.generation or not is_protected(record):
            return False
        if not may_stay(event.last_content, record, event.generation):
            return False
        try:
            former = await self._stores.blobs.get(known.document_ref)
        except MissingBlob:
            return False
        return is_gone(decode_document(former).text, decode_document(outcome.document).text)

    async def _keep_content(self, event: PageFetched, outcome: PageOutcome, at: int) -> Sequence[Event]:
        """Record the answer with the references of the last content, unless a later answer came meanwhile.

        A refresh is a redirect: its target is announced.
        """
        assert event.last_content
        if outcome.redirect_url:
            answer: dict[str, str | None] = {"outcome": "redirect", "redirect_to": outcome.redirect_url}
        else:
            answer = {"outcome": "refused", "error": "a sign-in page in place of the page"}
        if (await self._stores.pages.get(event.page_id)).fetched.generation == event.generation:
            kept = Fetched.of_event(with_last_content(event.model_copy(update=answer), event.last_content))
            await self._stores.pages.put(event.page_id, kept, at)
        in_place = "refresh" if outcome.redirect_url else "sign_in"
        return [
            *discoveries(event, outcome, self._allowed),
            PageSettled.following(event, verdict="failed", in_place=in_place),
        ]

    async def _record_of_import(self, event: PageFetched) -> PageRecord | None:
        """Return what is known of an imported page. None: the page was fetched by a crawl.

        A later version of it may have been read before. Parts of the record are ordered by the time of their event,
        which is the time of the import and not of the archived page.
        """
        return await self._stores.pages.get(event.page_id) if event.source != "crawl" else None

    async def _read_sitemap(self, event: PageFetched, at: int) -> tuple[bool, Sequence[Event]]:
        """Return whether the file changed, as far as it is a feed, and the pages that it names."""
        assert event.body_ref
        try:
            body = await blob_of_page(self._stores.blobs, self._stores.pages, event, event.body_ref)
        except PageErased:
            return False, []
        try:
            found = await self._pool.read_sitemap(body, url=event.url, headers=event.headers)
        except Refused:  # it reached a limit: the pages of the site are found by its links
            return False, []
        changed = await note_feed(self._stores.pages, event, found, at) if found.is_feed else True
        return changed, list(sitemap_events(event, found, self._allowed))

    def delivered(self, delivery: Delivery, outputs: Sequence[Event]) -> None:
        self._announced.remember(outputs, delivery.envelope.id)

    async def _store(
        self, event: PageFetched, outcome: PageOutcome, audience: str, at: int, links: Sequence[LinkGroup] = ()
    ) -> str:
        blobs, pages = self._stores.blobs, self._stores.pages
        # The document is where the body is, which was found to keep the partition of the page small.
        writer = PartWriter(blobs, pages, event.page_id, with_record=is_of_page(event.body_ref))
        reference = await writer.add(outcome.document)
        await writer.put(_normalized_part(event, outcome, reference, audience), at, links)
        return reference

    async def _refuse(self, event: PageFetched, refusal: Refused, at: int) -> Sequence[Event]:
        part = Normalized.of_refusal(event.url, event.generation, str(refusal))
        await self._stores.pages.put(event.page_id, part, at)
        settled = _settled_event(event).model_copy(update={"exhausting": refusal.rule in EXHAUSTING})
        return [_removed_event(event, "unsupported", str(refusal)), settled]


def _find_noindex(event: PageFetched, outcome: PageOutcome) -> str:
    """Return why the page asks not to be indexed, or ""."""
    if is_expired(outcome.directives, utc_from_micros(event.generation)):
        return _NOINDEX_EXPIRED
    return _NOINDEX if "noindex" in outcome.directives else ""


def _settled_event(event: PageFetched) -> PageSettled:
    """Return the event that settles a fetch without a searchable page."""
    return PageSettled.following(event, verdict="refused")


def _normalized_part(event: PageFetched, outcome: PageOutcome, reference: str, audience: str) -> Normalized:
    facts = outcome.facts
    return Normalized(
        **_common_fields(outcome, reference),
        url=event.url,
        generation=event.generation,
        canonical=outcome.canonical_url,
        alternates=outcome.alternates,
        blocks=outcome.blocks,
        author=facts.get("author"),
        published=facts.get("published"),
        modified=facts.get("modified"),
        site_name=facts.get("site_name"),
        image=facts.get("image"),
        licence=facts.get("licence"),
        type=facts.get("type"),
        format=facts.get("format"),
        typed=outcome.typed,
        quality=outcome.quality,
        sign_in=outcome.sign_in,
        audience=audience,
    )


def _normalized_event(event: PageFetched, outcome: PageOutcome, reference: str, audience: str) -> PageNormalized:
    return PageNormalized.following(
        event,
        **_common_fields(outcome, reference),
        canonical_url=outcome.canonical_url,
        quality=outcome.quality.get("score"),
        audience=audience,
    )


def _common_fields(outcome: PageOutcome, reference: str) -> dict[str, Any]:
    """Return the facts that the record and the event have under the same names."""
    names = ("content_hash", "title", "description", "language", "language_confidence", "directives", "text_chars")
    fields = {name: getattr(outcome, name) for name in names}
    return {**fields, "document_ref": reference, "links": len(outcome.links)}


def _removed_event(event: PageFetched, reason: str, detail: str) -> PageRemoved:
    return PageRemoved.following(event, reason=reason, detail=detail[:500])


async def build(settings: Settings, stores: Stores) -> NormalizeAgent:
    """Make the stage's agent. Its parsing processes start and end with it."""
    crawl, has_private_sites = settings.crawl, settings.access.private_sites
    return NormalizeAgent(
        stores, ParsePool(), allowed=crawl.origins, robot=crawl.robot_name, has_private_sites=has_private_sites
    )
