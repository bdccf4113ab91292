"""The normalize stage over memory stores: what it emits, and that a second delivery changes nothing."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from schemas import Envelope, Event, LinkFound, PageDiscovered, PageFetched, PageNormalized, PageRemoved, PageSettled
from schemas.ids import page_id
from streams.errors import MissingBlob, Refused
from streams.pages.agent import NormalizeAgent
from streams.pages.document.codec import decode_document
from streams.pages.link_events import MAX_LINK_BYTES_PER_EVENT, MAX_LINKS_PER_EVENT
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Delivery
from streams.stores.memory import MemoryBlobs, MemoryFrontier, MemoryHostLinks, MemoryPages
from streams.stores.opener import Stores
from streams.stores.page_record import Removed
from streams.stores.protocols import LinkGroup

URL = "https://site.example/page"
PARAGRAPH = "<p>A paragraph that is long enough, with commas, and says what an article would say of its subject.</p>"
PAGE = f"""<html lang="en"><title>The page</title><main><h1>The page</h1>{PARAGRAPH * 3}
<p>It links to <a href="/a?utm_source=x">one page</a>, <a href="/a">the same</a> and
<a rel="nofollow" href="https://other.example/">another</a>, and has more about both of them in this text.</p></main>"""


@pytest.fixture(scope="session")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


class Stage:
    def __init__(self, pool: ParsePool) -> None:
        blobs, links = MemoryBlobs(), MemoryHostLinks()
        pages = MemoryPages(blobs, links)
        self.stores = Stores(blobs=blobs, pages=pages, host_links=links, frontier=MemoryFrontier())
        self.agent = NormalizeAgent(self.stores, pool)

    async def fetched(self, body: str | bytes = PAGE, **fields: Any) -> Delivery:
        content = body if isinstance(body, bytes) else body.encode()
        event = PageFetched.model_validate(
            {
                "page_id": page_id(URL),
                "url": URL,
                "host": "site.example",
                "outcome": "ok",
                "generation": 7,
                "crawl_id": "c1",
                "body_ref": await self.stores.blobs.put(content),
                **fields,
            }
        )
        envelope = Envelope(
            id=UUID(int=1), type=event.event_type(), source="/test", time=datetime(2026, 1, 1, tzinfo=UTC)
        )
        return Delivery(event, envelope, event.topic, 0, 0)

    async def handle(self, body: str | bytes = PAGE, **fields: Any) -> list[Event]:
        return list(await self.agent.handle(await self.fetched(body, **fields)))


@pytest.fixture
def stage(pool: ParsePool) -> Stage:
    return Stage(pool)


def of(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def followed(events: list[Event]) -> list[PageDiscovered]:
    """Return the links that the crawl may follow, as the frontier discovers them."""
    return [found for event in of(LinkFound, events) if (found := event.followed())]


async def test_a_page_becomes_a_document_and_its_links_are_announced(stage: Stage) -> None:
    events = await stage.handle(depth=2, max_depth=5, max_pages=9, same_host=True)
    (normalized,) = of(PageNormalized, events)
    document = decode_document(await stage.stores.blobs.get(normalized.document_ref))
    assert (normalized.title, normalized.language, normalized.generation) == ("The page", "en", 7)
    assert document.blocks[0].text == "The page"
    assert [(link.target_url, link.anchor, link.nofollow, link.follow) for link in of(LinkFound, events)] == [
        ("https://site.example/a", "one page", False, True),
        ("https://other.example/", "another", True, False),
    ]
    (discovered,) = followed(events)
    assert (discovered.url, discovered.why, discovered.depth) == ("https://site.example/a", "link", 3)
    assert (discovered.max_depth, discovered.max_pages, discovered.same_host) == (5, 9, True)
    assert discovered.referrer == URL
    record = (await stage.stores.pages.get(page_id(URL))).rows["normalized"]
    assert record["document_ref"] == normalized.document_ref


async def test_the_links_of_a_page_are_one_event_for_each_host(stage: Stage) -> None:
    urls = [f"https://{host}.example/{n}" for n in range(300) for host in ("one", "two")]
    body = "<title>Links</title><main>" + "".join(f'<p>Some text and <a href="{url}">{url}</a>.</p>' for url in urls)
    events = await stage.handle(body, depth=1)
    discovered, found = followed(events), of(LinkFound, events)
    assert [(event.host, 1 + len(event.more_urls)) for event in discovered] == [
        ("one.example", MAX_LINKS_PER_EVENT),
        ("one.example", 100),
        ("two.example", MAX_LINKS_PER_EVENT),
        ("two.example", 100),
    ]
    each = [one for event in discovered for one in event.each()]
    assert sorted(one.url for one in each) == sorted(urls)
    assert all((one.page_id, one.depth, one.referrer) == (page_id(one.url), 2, URL) for one in each)
    assert [event.key() for event in found] == ["one.example"] * 2 + ["two.example"] * 2
    links = [one for event in found for one in event.each()]
    assert sorted(one.target_url for one in links) == sorted(urls)
    assert all((one.anchor, one.target_page_id) == (one.target_url, page_id(one.target_url)) for one in links)


async def test_an_event_with_long_links_is_split_by_size(stage: Stage) -> None:
    urls = [f"https://other.example/{n}/{'x' * 1_900}" for n in range(100)]
    body = "<title>Links</title><main>" + "".join(f'<p>Some text and <a href="{url}">a</a>.</p>' for url in urls)
    events = await stage.handle(body)
    assert 3 <= len(of(LinkFound, events)) <= 5
    assert all(len(event.to_json()) < 2 * MAX_LINK_BYTES_PER_EVENT for event in of(LinkFound, events))
    assert sorted(one.url for event in followed(events) for one in event.each()) == sorted(urls)


ELSEWHERE = "https://away.example/a"
"""A link target on another host, in each place and form that a link of a page may have."""


@pytest.mark.parametrize(
    ("head", "link", "fields", "is_edge", "is_followed"),
    [
        pytest.param("", f"<a href={ELSEWHERE}>x</a>", {}, True, True, id="of the content"),
        pytest.param("", f"<a rel=nofollow href={ELSEWHERE}>x</a>", {}, True, False, id="nofollow"),
        pytest.param("", f"<a href={ELSEWHERE}.png>x</a>", {}, True, False, id="no page"),
        pytest.param("<meta name=robots content=nofollow>", f"<a href={ELSEWHERE}>x</a>", {}, True, False, id="page"),
        pytest.param("", f"<a href={ELSEWHERE}>x</a>", {"depth": 1, "max_depth": 1}, True, False, id="too deep"),
        pytest.param(f"<link rel=canonical href={ELSEWHERE}>", f"<a href={ELSEWHERE}>x</a>", {}, True, False, id="own"),
        pytest.param("", f"</p></main><nav><a href={ELSEWHERE}>x</a></nav>", {}, False, True, id="boilerplate"),
        pytest.param("<meta name=robots content=noindex>", f"<a href={ELSEWHERE}>x</a>", {}, False, True, id="noindex"),
    ],
)
async def test_a_link_is_an_edge_or_followed_or_both(
    stage: Stage, head: str, link: str, fields: dict[str, Any], is_edge: bool, is_followed: bool
) -> None:
    body = f"<title>T</title>{head}<main><p>Enough words of a paragraph of the page, and {link} in it.</p></main>"
    (found,) = of(LinkFound, await stage.handle(body, **fields))
    assert (found.edges() is not None, found.followed() is not None) == (is_edge, is_followed)
    assert found.anchor == ("x" if is_edge else "")


async def test_a_link_that_is_neither_is_in_no_event(stage: Stage) -> None:
    body = f"<title>T</title><main><p>Words of a page.</p></main><nav><a rel=nofollow href={ELSEWHERE}>x</a></nav>"
    assert not of(LinkFound, await stage.handle(body))


async def test_a_link_of_many_pages_is_announced_by_the_first(stage: Stage) -> None:
    first = await stage.fetched(page_id=page_id(f"{URL}1"), url=f"{URL}1")
    outputs = await stage.agent.handle(first)
    stage.agent.delivered(first, outputs)
    second = replace(first, envelope=first.envelope.model_copy(update={"id": UUID(int=2)}))
    assert not followed(list(await stage.agent.handle(second)))
    assert await stage.agent.handle(first) == outputs, "a redelivery has the same outputs"


async def test_until_kafka_has_a_link_other_pages_announce_it_too(stage: Stage) -> None:
    first = await stage.fetched()
    await stage.agent.handle(first)  # and its worker is killed, or its outputs are not delivered yet
    second = replace(first, envelope=first.envelope.model_copy(update={"id": UUID(int=2)}))
    assert followed(list(await stage.agent.handle(second)))


async def test_a_second_delivery_and_a_crash_before_the_ack_change_nothing(stage: Stage) -> None:
    delivery = await stage.fetched()
    first = await stage.agent.handle(delivery)
    stored = await stage.stores.pages.get(page_id(URL))
    # A crash after handle() and before the acknowledgement is, for the stores, the same as this.
    second = await stage.agent.handle(delivery)
    assert first == second
    assert await stage.stores.pages.get(page_id(URL)) == stored


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"outcome": "not_modified", "body_ref": None}, "nothing new came"),
        ({"outcome": "redirect", "body_ref": None}, "the frontier follows it"),
        ({"purpose": "robots"}, "robots.txt is no page"),
    ],
)
async def test_events_without_a_page_are_ignored(stage: Stage, fields: dict[str, Any], why: str) -> None:
    assert await stage.handle(**fields) == [], why


async def test_a_sitemap_that_was_removed_on_request_has_no_effect(stage: Stage) -> None:
    delivery = await stage.fetched("<urlset/>", purpose="sitemap")
    assert isinstance(delivery.event, PageFetched)
    missing = replace(delivery, event=delivery.event.model_copy(update={"body_ref": "0" * 64}))
    with pytest.raises(MissingBlob):
        await stage.agent.handle(missing)
    removal = Removed.of_row({"url": URL, "generation": 8, "reason": "request", "at": 8})
    await stage.stores.pages.put(page_id(URL), removal, 8)
    (settled,) = await stage.agent.handle(missing)
    assert isinstance(settled, PageSettled)
    assert settled.purpose == "sitemap"
    assert "feed" not in (await stage.stores.pages.get(page_id(URL))).rows


async def test_noindex_removes_the_page_and_follows_its_links(stage: Stage) -> None:
    events = await stage.handle(headers={"x-robots-tag": "noindex"})
    assert [event.reason for event in of(PageRemoved, events)] == ["noindex"]
    assert [event.verdict for event in of(PageSettled, events)] == ["refused"]
    assert [event.url for event in followed(events)] == ["https://site.example/a"]
    assert not of(PageNormalized, events)
    assert not any(event.edges() for event in of(LinkFound, events))


async def test_nofollow_keeps_the_page_and_follows_nothing(stage: Stage) -> None:
    events = await stage.handle(PAGE.replace("<title>", "<meta name=robots content=nofollow><title>"))
    assert of(PageNormalized, events)[0].directives == ("nofollow",)
    assert not followed(events)
    assert all(link.nofollow for link in of(LinkFound, events))


async def test_links_beyond_the_depth_are_not_announced(stage: Stage) -> None:
    assert not followed(await stage.handle(depth=1, max_depth=1))


async def test_another_canonical_page_is_announced_at_the_same_depth(stage: Stage) -> None:
    body = PAGE.replace("<title>", '<link rel=canonical href="http://SITE.example/the-page"><title>')
    events = await stage.handle(body, depth=1, max_depth=1)
    (discovered,) = of(PageDiscovered, events)
    assert (discovered.url, discovered.why, discovered.depth) == ("https://site.example/the-page", "canonical", 1)
    assert of(PageNormalized, events)[0].canonical_url == "https://site.example/the-page"


@pytest.mark.parametrize(
    ("body", "headers", "rule"),
    [
        ("<div>" * 100_000, {}, "nesting"),
        ("PNG", {"content-type": "image/png"}, "type"),
    ],
)
async def test_a_refused_page_is_recorded_and_settled(
    stage: Stage, body: str, headers: dict[str, str], rule: str
) -> None:
    events = await stage.handle(body, headers=headers)
    removed, settled = events
    assert isinstance(removed, PageRemoved)
    assert (removed.reason, (removed.detail or "").partition(":")[0]) == ("unsupported", rule)
    assert isinstance(settled, PageSettled)
    assert (settled.verdict, settled.exhausting) == ("refused", False)
    assert "refused" in (await stage.stores.pages.get(page_id(URL))).rows["normalized"]


@pytest.mark.parametrize(
    ("rule", "exhausting"),
    [("time", True), ("memory", True), ("crash", True), ("nesting", False), ("type", False), ("language", False)],
)
async def test_a_page_that_used_up_its_process_says_so(
    stage: Stage, rule: str, exhausting: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise Refused(rule)

    monkeypatch.setattr("streams.pages.sandbox.pool.ParsePool.parse", refuse)
    (settled,) = of(PageSettled, await stage.handle("<p>Text"))
    assert (settled.verdict, settled.exhausting) == ("refused", exhausting)


@pytest.mark.parametrize(("stamp", "is_sure"), [("data-riffle-judged", True), ("", False)])
async def test_a_page_of_a_renderer_without_judgement_is_judged_by_its_style(
    stage: Stage, stamp: str, is_sure: bool
) -> None:
    body = f"<html {stamp}><main>{PARAGRAPH * 9}<p style='opacity:.1'>What a script may have shown since.</p></main>"
    [normalized] = of(PageNormalized, await stage.handle(body, rendered=True))
    document = decode_document(await stage.stores.blobs.get(normalized.document_ref))
    assert (not document.doubtful()) == is_sure


async def test_a_browser_s_judgement_holds_for_a_page_with_little_that_is_seen(stage: Stage) -> None:
    unseen = f"<div data-riffle-doubt=opacity>{PARAGRAPH}</div>" * 3
    body = f"<html data-riffle-judged><main><p>Few words are seen here.</p>{unseen}</main></html>"
    [normalized] = of(PageNormalized, await stage.handle(body, rendered=True))
    document = decode_document(await stage.stores.blobs.get(normalized.document_ref))
    doubtful = [block.text for index, block in enumerate(document.blocks) if index in document.doubtful()]
    assert doubtful
    assert not [block.text for block in document.blocks if block.text not in (*doubtful, "Few words are seen here.")]


async def test_plain_text_is_kept_as_it_is(stage: Stage) -> None:
    events = await stage.handle("a < b\n  c", headers={"content-type": "text/plain; charset=utf-8"})
    document = decode_document(await stage.stores.blobs.get(of(PageNormalized, events)[0].document_ref))
    assert [(block.tag, block.text) for block in document.blocks] == [("pre", "a < b\n  c")]


LINKING = """<html lang=en><title>Links</title><main><h1>Links</h1>
<p>The manual of the pump is in <a href="https://far.example/a">one place</a>, and its parts are in another one
<a href="https://far.example/b">near to it</a>, as <a href="/own">this page</a> and a
<a rel=nofollow href="https://paid.example/">shop without a word for it</a> say.</p></main></html>"""


@pytest.mark.parametrize("noindex", [False, True])
async def test_edges_to_other_domains_are_stored_with_the_record_before_they_are_announced(
    stage: Stage, noindex: bool
) -> None:
    body = LINKING.replace("<title>", "<meta name=robots content=noindex><title>") if noindex else LINKING
    for _ in range(2):  # a redelivery
        found = of(LinkFound, await stage.handle(body))
        recorded = {event.target_host: event.is_recorded for event in found}
        groups = await stage.stores.host_links.links_of(page_id(URL))
        if noindex:
            assert (groups, any(recorded.values())) == ([], False)
            continue
        assert {**recorded, "site.example": False} == {"site.example": False, "far.example": True, "paid.example": True}
        assert sorted(groups, key=lambda group: group.urls) == [
            LinkGroup(("https://far.example/a", "https://far.example/b"), 7),
            LinkGroup(("https://paid.example/",), 7, followed=False),
        ]


NOINDEX = "<meta name=robots content=noindex><title>"


async def import_of(stage: Stage, body: str | bytes, generation: int) -> list[Event]:
    """Handle the event of an import, which comes later than all that were handled before."""
    delivery = await stage.fetched(body, source="warc", generation=generation)
    envelope = delivery.envelope.model_copy(update={"time": delivery.envelope.time + timedelta(days=1)})
    return list(await stage.agent.handle(replace(delivery, envelope=envelope)))


@pytest.mark.parametrize("older", [LINKING, b"\x00\x01\x02 no page", LINKING.replace("<title>", NOINDEX)])
async def test_an_archive_replaces_nothing_of_a_page_that_was_fetched_later(stage: Stage, older: str | bytes) -> None:
    """Its event is the later one, and its page the older one."""
    await stage.handle(PAGE, generation=9)
    known, groups = await stage.stores.pages.get_with_links(page_id(URL))
    (settled,) = await import_of(stage, older, 8)
    assert isinstance(settled, PageSettled)
    assert (settled.verdict, settled.generation) == ("unchanged", 8), "who imports it waits for nothing"
    assert await stage.stores.pages.get_with_links(page_id(URL)) == (known, groups)


async def test_an_archive_of_a_later_time_replaces_a_page(stage: Stage) -> None:
    await stage.handle(PAGE, generation=9)
    assert of(PageNormalized, await import_of(stage, LINKING, 10))
    record = await stage.stores.pages.get(page_id(URL))
    assert (record.normalized.title, record.normalized.generation, record.fetched.generation) == ("Links", 10, 10)
