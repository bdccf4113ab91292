"""A visit of an indexed page that fails: its record keeps the last content, which a sweep and an operator need."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from schemas import Event, PageFetched, PageIndexed, PageRemoved
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.frontier.decisions import apply_fetch
from streams.crawl.frontier.policy import Policy
from streams.errors import MissingBlob
from streams.maintenance.host_pages import remove_pages, restore_pages
from streams.maintenance.reference_set import ReferenceSet
from streams.maintenance.sweeping import DAY, Progress, Sweeper, minimum_grace_seconds
from streams.stores.memory import MemoryBlobCollection, MemoryBlobs, MemoryFingerprints, MemoryPages
from streams.stores.opener import Stores
from streams.stores.protocols import FrontierUrl
from tests.hostile.servers import Script, bad_server, raw, response
from tests.inline_sandbox import inline_parse_pool
from tests.stages.test_fetch import URL, Stage, run, scheduled
from tests.stages.test_unchanged_and_removed_pages import BODY
from tests.stages.whole_journey import WholeJourney

PAGE = page_id(URL)


def in_turn(*scripts: Script) -> Script:
    """Make a script that answers each request with the next of these, and all further ones with the last."""
    waiting = list(scripts)

    async def script(writer: object) -> None:
        await (waiting.pop(0) if len(waiting) > 1 else waiting[0])(writer)  # type: ignore[arg-type] # as it came

    return script


@pytest.mark.parametrize(
    ("answer", "outcome", "is_kept"),
    [
        (response(status="503 Later", retry_after="7"), "server_error", True),
        (response(status="429 Slow", retry_after="7"), "rate_limited", True),
        (response(status="403 No", x_robots_tag="noindex"), "refused", True),
        (response(b"a movie", content_type="video/mp4"), "unsupported_type", True),
        (raw(b""), "network_error", True),
        (response(status="304 Not Modified"), "not_modified", True),
        # RFC 9110: the page stays at its address, such as behind a sign-in page.
        (response(status="302 Found", location="/sign-in"), "redirect", True),
        (response(status="303 See Other", location="/sign-in"), "redirect", True),
        (response(status="307 Temporary Redirect", location="https://sso.example/"), "redirect", True),
        # The page leaves the index.
        (response(status="404 Not Found"), "gone", False),
        (response(status="301 Moved", location="/y"), "redirect", False),
        (response(status="308 Permanent Redirect", location="/y"), "redirect", False),
    ],
)
async def test_a_visit_without_content_keeps_the_last_content(
    tmp_path: Path, answer: Script, outcome: str, is_kept: bool
) -> None:
    first, second = scheduled(), scheduled(etag='"1"')
    script = in_turn(response(b"<p>Hi", etag='"1"'), answer)
    ((ok,), (visit,), (again,)), stores, _ = await run(tmp_path, script, first, second, second)
    assert (ok.outcome, visit.outcome, again) == ("ok", outcome, visit)
    expected = (ok.body_ref, ok.body_bytes, ok.exchange_ref) if is_kept else (None, 0, None)
    assert (visit.body_ref, visit.body_bytes, visit.exchange_ref) == expected
    assert (await stores.pages.get(PAGE)).fetched.event() == visit
    if is_kept:
        wait = {name: each for name, each in visit.headers.items() if name == "retry-after"}
        assert wait == ({"retry-after": "7"} if outcome in ("server_error", "rate_limited") else {})
        assert {**visit.headers, "content-type": "text/html"} == {**ok.headers, **wait}


async def test_a_page_that_was_never_read_and_a_robots_file_keep_nothing(tmp_path: Path) -> None:
    failure = response(status="503 Later")
    ((never,),), _, _ = await run(tmp_path, failure, scheduled())
    assert never.body_ref is None
    events = (scheduled(purpose="robots"), scheduled(purpose="robots"))
    ((rules,), (failed,)), _, _ = await run(tmp_path, in_turn(response(b"User-agent: *"), failure), *events)
    assert (bool(rules.body_ref), failed.body_ref) == (True, None)


async def sweep(stores: Stores, *days: float) -> None:
    """Sweep as if these days had passed, once for each of them."""
    assert isinstance(stores.blobs, MemoryBlobs)
    assert isinstance(stores.pages, MemoryPages)
    assert isinstance(stores.fingerprints, MemoryFingerprints)

    async def report(_: Progress, __: int) -> None: ...

    collection = MemoryBlobCollection(stores.blobs, stores.pages, stores.fingerprints)
    for passed in days:
        progress, references = Progress(now_micros() / 1e6 + passed * DAY), ReferenceSet(1 << 12, bytes(range(32)))
        grace = minimum_grace_seconds()
        await Sweeper(collection, stores.pages, references, progress, report, grace_seconds=grace, delete=True).run()


async def test_after_a_failed_visit_a_sweep_keeps_the_body_and_a_host_comes_back(tmp_path: Path) -> None:
    script = in_turn(response(BODY.encode()), response(status="503 Later"), raw(b""))
    async with inline_parse_pool() as pool, bad_server(tmp_path, {"/x": script}) as server:
        journey = WholeJourney(pool)
        stores, stage = journey.stores, Stage(server, journey.stores)
        try:
            events: list[Event] = []
            for at in range(3):
                (fetched,) = await stage.fetch(scheduled())
                events += await journey.handle(fetched, at)
        finally:
            await stage.agent.stop()
        assert [type(event) for event in events].count(PageIndexed) == 1
        body_ref, unused = (await stores.pages.get(PAGE)).fetched.body_ref, await stores.blobs.put(b"nobody's")
        await sweep(stores, 3, 4 + minimum_grace_seconds() / DAY)
        assert await stores.blobs.get(str(body_ref)) == BODY.encode()
        with pytest.raises(MissingBlob):
            await stores.blobs.get(unused)

        handled: list[Event] = []

        async def send(sent: Sequence[Event]) -> None:
            for event in sent:
                handled.extend(await journey.handle(event, 60))

        assert [done.pages async for done in remove_pages(stores.pages, "bad.example", now_micros(), "", send)][-1] == 1
        assert [event.reason for event in handled if isinstance(event, PageRemoved)] == ["blocked"]
        handled.clear()
        assert [done.pages async for done in restore_pages(stores.pages, "bad.example", now_micros(), send)][-1] == 1
        assert [event.page_id for event in handled if isinstance(event, PageIndexed)] == [PAGE]


async def test_a_page_that_comes_back_is_asked_for_without_the_validators_of_its_lost_content(tmp_path: Path) -> None:
    """A 304 would bring no body, and the page would stay out of the index."""
    script = in_turn(response(b"<p>Hi", etag='"1"'), response(status="404 Not Found"), response(b"<p>Hi", etag='"1"'))
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs))
    async with bad_server(tmp_path, {"/x": script}) as server:
        stage = Stage(server, stores)
        for _ in range(4):
            (fetched,) = await stage.fetch(scheduled(etag='"1"'))
        await stage.agent.stop()
    assert [b'if-none-match: "1"' in request.lower() for request in server.requests] == [False, True, False, True]
    assert fetched.body_ref


MONDAY, TUESDAY = "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 02 Jan 2024 00:00:00 GMT"


@pytest.mark.parametrize(
    ("content", "unchanged"),
    [
        ({"etag": 'W/"1"'}, {"etag": '"1"'}),  # nginx weakens the ETag of a compressed answer
        ({"last_modified": MONDAY}, {"last_modified": TUESDAY}),
        ({"etag": '"1"', "last_modified": MONDAY}, {"etag": '"2"', "last_modified": TUESDAY}),
        ({"etag": '"1"'}, {"etag": '"1"', "last_modified": TUESDAY}),
        ({"etag": '"1"', "last_modified": MONDAY}, {}),
    ],
)
@pytest.mark.parametrize("wish", [{}, {"x_robots_tag": "nofollow"}], ids=["as before", "read again"])
async def test_each_visit_after_a_304_with_other_validators_is_conditional(
    tmp_path: Path, content: dict[str, str], unchanged: dict[str, str], wish: dict[str, str]
) -> None:
    script = in_turn(response(b"<p>Hi", **content), response(b"", "304 Not Modified", **unchanged, **wish))
    stores = Stores(blobs=(blobs := MemoryBlobs()), pages=MemoryPages(blobs))
    url = FrontierUrl(PAGE, URL, "bad.example", "queued", 0)
    async with bad_server(tmp_path, {"/x": script}) as server:
        stage = Stage(server, stores)
        for visit in range(5):
            asked = scheduled(etag=url.etag, last_modified=url.last_modified, generation=now_micros() + visit)
            (fetched,) = await stage.fetch(asked)
            url = apply_fetch(url, fetched, 0, Policy.of(stage.server.settings()), now_micros())
        await stage.agent.stop()
    names = {"etag": b"if-none-match: ", "last_modified": b"if-modified-since: "}
    wanted = {names[name] + value.lower().encode() for name, value in content.items()}
    assert [wanted <= set(request.lower().split(b"\r\n")) for request in server.requests] == [False] + 4 * [True]


@pytest.mark.parametrize("source", ["warc", "html"])
async def test_an_imported_page_is_kept_by_sweeps_and_comes_back_with_its_host(source: str) -> None:
    async with inline_parse_pool() as pool:
        journey = WholeJourney(pool)
        stores = journey.stores
        ref = await stores.blobs.put(BODY.encode())
        fields = {"page_id": PAGE, "url": URL, "host": "bad.example", "outcome": "ok", "body_ref": ref}
        imported = PageFetched(**fields, generation=now_micros(), source=source)
        await journey.handle(imported, 0)
        await journey.handle(
            imported.model_copy(update={"generation": 5, "body_ref": await stores.blobs.put(b"old")}), 1
        )
        assert (await stores.pages.get(PAGE)).fetched.event() == imported, "an older archive replaces nothing"
        await sweep(stores, 3, 4 + minimum_grace_seconds() / DAY)
        assert await stores.blobs.get(ref) == BODY.encode()
        sent: list[Event] = []

        async def send(events: Sequence[Event]) -> None:
            sent.extend(events)

        assert [done.pages async for done in restore_pages(stores.pages, "bad.example", now_micros(), send)][-1] == 1
    assert [event.body_ref for event in sent if isinstance(event, PageFetched)] == [ref]
