"""A page taken apart: the original, the document, the removed texts and the reasons. No page stops the gateway."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from schemas.ids import page_id
from streams.gateway.labs.explainer import MAX_WAITING, Explainer
from streams.pages.sandbox.normalizing import normalize_to_outcome
from streams.pages.sandbox.pool import LIMITS, ParsePool
from streams.stores.opener import Stores, memory_stores
from streams.stores.page_record import Fetched, Normalized
from tests.sizes import FULL
from tests.stages.gateway_fakes import client, gateway
from tests.stages.test_gateway_pages import HOSTILE, HTML, assert_harmless

HEADERS = {"content-type": "text/html; charset=utf-8"}
PARAGRAPH = (
    "<p>A log that is written ahead of the file is fast, because it is written in order, and because readers, who "
    "read the file as it was, wait for nobody; so it is what most who have asked should use in the end.</p>"
)
MENU = '<a href="/">Home</a> <a href="/about">About &amp; contact</a>'


@pytest.fixture(scope="module")
async def explainer() -> AsyncIterator[Explainer]:
    """One process for all tests of this module."""
    explainer = Explainer(seconds=120)
    yield explainer
    await explainer.close()


async def stored(body: str | bytes, *, url: str = "https://logs.example/wal", **headers: str) -> Stores:
    """A page with the records and blobs that the stages write of it."""
    stores, content = memory_stores(), body if isinstance(body, bytes) else body.encode()
    document = normalize_to_outcome(content, url=url, headers=HEADERS).document if len(content) < 1_000_000 else b""
    fetched = {"url": url, "body_ref": await stores.blobs.put(content), "headers": HEADERS | headers, "generation": 1}
    normalized = {"url": url, "document_ref": await stores.blobs.put(document), "directives": [], "generation": 1}
    await stores.pages.put(page_id(url), Fetched.of_row(fetched), 1)
    await stores.pages.put(page_id(url), Normalized.of_row(normalized), 1)
    return stores


async def shown(stores: Stores, explainer: Explainer, url: str = "https://logs.example/wal") -> str:
    async with client(gateway(stores, deadline_seconds=30, explainer=explainer)) as web:
        response = await web.get("/labs/page", params={"url": url}, headers=HTML)
    assert response.status_code == 200, response.text
    assert_harmless(response.text)
    return str(response.text)


REASONS = [
    # the page, the reason's heading, the text below it
    (f"<nav>{MENU}</nav><main>{PARAGRAPH * 3}</main>", "Element nav", "Home About &amp; contact"),
    (f"<div role=navigation>{MENU}</div><main>{PARAGRAPH * 3}</main>", "Role navigation or contentinfo", "Home About"),
    (
        f"<main>{PARAGRAPH * 3}</main><div class=share><a href=/x>Tweet this</a></div>",
        "The content model",
        "Tweet this",
    ),
    (f"<main>{PARAGRAPH}</main><aside>Look at this</aside>", "Element aside", "Look at this"),
    (f"<main>{PARAGRAPH}</main><div role=search>Look for it</div>", "Role search", "Look for it"),
    (f"<main>{PARAGRAPH}</main><div id=cookies>We use them</div>", "Class or id", "We use them"),
    (f"<main>{PARAGRAPH * 3}<select><option>A choice</select></main>", "Never read", "A choice"),
]


@pytest.mark.parametrize(("page", "heading", "text"), REASONS, ids=[heading for _, heading, _ in REASONS])
async def test_each_removed_text_is_below_its_reason(explainer: Explainer, page: str, heading: str, text: str) -> None:
    html = await shown(await stored(page), explainer)
    _, _, below = html.partition('<h2 id="removed">')
    found = below.partition(f"<h3>{heading}</h3>")[2].partition("<h3>")[0]
    assert text in found, f"{text!r} is not below {heading!r}"
    assert "A log that is written ahead" not in below, "what was kept was not removed"


async def test_the_probability_of_a_text_is_shown(explainer: Explainer) -> None:
    html = await shown(await stored(REASONS[2][0]), explainer)
    likely = html.partition("<h3>The content model</h3>")[2].partition("Tweet this")[0]
    assert likely.rpartition('<span class="tag">')[2].partition("</span>")[0].endswith(" %")


async def test_quirks_of_a_site_are_named_with_their_selector(explainer: Explainer) -> None:
    url = "https://en.wikipedia.org/wiki/Log"
    page = f"<main id=content><div class=navbox>Kinds of logs</div>{PARAGRAPH}</main><div>Around it</div>"
    html = await shown(await stored(page, url=url), explainer, url)
    found = html.partition("<h3>A peculiarity of en.wikipedia.org</h3>")[2]
    for text in (".navbox", "Kinds of logs", "outside of main#content", "Around it"):
        assert text in found


async def test_scripts_and_styles_are_no_text_that_was_removed(explainer: Explainer) -> None:
    code = "<script src=a></script><style>.a { colour: b }</style><script>\nlet  c = 'text'</script><script> </script>"
    page = f"<nav>{code}{MENU}<script>o</script></nav><main>{PARAGRAPH * 3}</main>"
    html = await shown(await stored(page), explainer)
    found = html.partition("<h3>Element nav</h3>")[2]
    assert "Home About &amp; contact" in found
    assert "let c" not in found
    assert ".a {" not in found


async def test_a_page_that_kept_everything_has_no_removed_text(explainer: Explainer) -> None:
    html = await shown(await stored(PARAGRAPH), explainer)
    assert (
        "Nothing: all of the page&#39;s text was kept." in html or "Nothing: all of the page's text was kept." in html
    )
    assert "100 % of the page's text was kept" in html


async def test_long_texts_are_folded(explainer: Explainer) -> None:
    page = (
        f"<script>{'x' * 5_000}</script><nav>{'menu ' * 280}<a href=/>Home</a></nav>"
        f"<main>{PARAGRAPH * 3}<p>{'A long story. ' * 300}</p></main>"
    )
    html = await shown(await stored(page), explainer)
    assert "<summary>script, 5,000 characters</summary>" in html
    kept, _, removed = html.partition('<h2 id="removed">')
    assert '<details class="fold"><summary>A long story.' in kept
    assert '<details class="fold"><summary>menu menu' in removed


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_nothing_hostile_becomes_markup(explainer: Explainer, hostile: str) -> None:
    page = f"<title>{hostile}</title><nav>{hostile} {MENU}</nav><p>{hostile} {PARAGRAPH}<aside>{hostile}</aside>"
    await shown(await stored(page), explainer)


REFUSED = [
    # the body, its type, the reason
    (b"<div>" * 100_000, "text/html", "elements nest deeper than 5000"),
    (b"PNG", "image/png", "image/png is not HTML, text, Markdown, PDF, RTF, EPUB, OpenDocument or Office"),
]


@pytest.mark.parametrize(("body", "kind", "reason"), REFUSED)
async def test_a_refused_page_shows_the_reason(explainer: Explainer, body: bytes, kind: str, reason: str) -> None:
    stores = await stored(b"")
    fetched = {"url": "https://logs.example/wal", "body_ref": await stores.blobs.put(body)}
    await stores.pages.put(
        page_id("https://logs.example/wal"), Fetched.of_row(fetched | {"headers": {"content-type": kind}}), 2
    )
    assert f"The page can&#39;t be taken apart: {reason}." in await shown(stores, explainer)


FEW_SECONDS = replace(LIMITS, cpu_seconds=LIMITS.cpu_seconds if FULL else 0.5)
"""By day the time of a page ends sooner: the process uses up all of it."""
TIME = f"it took more than {FEW_SECONDS.cpu_seconds:g} seconds of CPU time"
MEMORY = ("more than 180 MiB", "the parser failed, as it does when it gets no more memory")
TOO_MUCH = [
    # Each end tag is looked for among all open elements: some ten thousand million steps, in little memory.
    pytest.param(b"<x>" * 4_900 + b"</y>" * 2_000_000, [TIME], id="time"),
    # Which limit it meets first depends on the machine, and on whether the walk was compiled.
    pytest.param(b"<p>x</p>" * 1_500_000, [TIME, *MEMORY], id="memory", marks=pytest.mark.night),
]


@pytest.mark.parametrize(("page", "reasons"), TOO_MUCH)
async def test_a_page_that_takes_too_much_is_refused_and_the_next_is_explained(
    page: bytes, reasons: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.pages.sandbox.pool.LIMITS", FEW_SECONDS)
    explainer = Explainer(seconds=120)
    try:
        html = await shown(await stored(page), explainer)
        why = html.partition("The page can&#39;t be taken apart: ")[2].partition("</p>")[0]
        assert why.removesuffix(".") in reasons
        assert "<h3>Element nav</h3>" in await shown(await stored(REASONS[0][0]), explainer)
    finally:
        await explainer.close()


def children() -> set[int]:
    """The processes that this one started and that are alive."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in found.split()}


async def test_a_process_that_hangs_is_replaced_and_the_page_is_explained() -> None:
    before = children()
    explainer = Explainer(lambda: ParsePool(1, stall_seconds=1), seconds=120)
    try:
        stores = await stored(REASONS[0][0])
        assert "Element nav" in await shown(stores, explainer)
        (process,) = children() - before
        os.kill(process, signal.SIGSTOP)
        assert "Element nav" in await shown(stores, explainer)
        assert process not in children()
    finally:
        await explainer.close()
    assert children() <= before


async def test_a_page_that_waits_too_long_or_behind_many_is_refused() -> None:
    """The process is stopped, so that nothing is answered until the time is over."""
    before = children()
    explainer = Explainer(seconds=120)
    try:
        await explainer.explain(b"<p>a", url="https://a.example/", headers={})
        (process,) = children() - before
        os.kill(process, signal.SIGSTOP)
        explainer.seconds = 0.5
        requests = [explainer.explain(b"<p>a", url="https://a.example/", headers={}) for _ in range(MAX_WAITING + 1)]
        reasons = [str(error) for error in await asyncio.gather(*requests, return_exceptions=True)]
        assert sum("Many people" in each for each in reasons) == 1
        assert sum("no answer within 0.5 seconds" in each for each in reasons) == MAX_WAITING
    finally:
        await explainer.close()
    assert children() <= before


async def test_the_process_starts_with_the_first_question_and_ends_with_the_gateway() -> None:
    before = children()
    app = gateway(await stored(REASONS[0][0]), deadline_seconds=30)
    async with client(app) as web:
        await web.get("/page", params={"url": "https://logs.example/wal"})
        assert children() == before, "labs were not used yet"
        await web.get("/labs/page", params={"url": "https://logs.example/wal"})
        assert children() > before
    await app.state.gateway.close()
    assert children() == before


async def test_without_its_original_a_page_shows_what_is_missing(explainer: Explainer) -> None:
    stores = await stored(PARAGRAPH)
    fetched = (await stores.pages.get(page_id("https://logs.example/wal"))).fetched
    await stores.pages.put(page_id("https://logs.example/wal"), replace(fetched, body_ref="0" * 64), 2)
    html = await shown(stores, explainer)
    assert "The original is no longer kept." in html
    assert "Without the original this is not known." in html


async def test_a_newer_copy_than_the_documents_is_marked(explainer: Explainer) -> None:
    stores = await stored(PARAGRAPH)
    fetched = (await stores.pages.get(page_id("https://logs.example/wal"))).fetched
    await stores.pages.put(page_id("https://logs.example/wal"), replace(fetched, generation=2), 2)
    assert "fetched again after this document was made" in await shown(stores, explainer)


async def test_blocks_in_another_language_show_it_with_its_confidence(explainer: Explainer) -> None:
    page = f"<html lang=en><main>{PARAGRAPH * 3}<p>Где ты сейчас?</p></main>"
    html = await shown(await stored(page), explainer)
    document = html.partition('<h2 id="document">')[2].partition('<h2 id="removed">')[0]
    assert re.search(r"4 blocks, language: en, Latn, \d\d %", document)
    assert re.search(r'Где ты сейчас\?</span><span class="tag spoken"[^>]*>ru, Cyrl, \d+ %</span>', document)
    assert document.count("spoken") == 1, "the others are as the page"
