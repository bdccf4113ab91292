"""A sign-in page or a refresh with status 200 in place of a known page: nothing is removed or replaced, for now."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from schemas import (
    Envelope,
    Event,
    PageDiscovered,
    PageFetched,
    PageNormalized,
    PageRemoved,
    PageScheduled,
    PageSettled,
)  # fmt: skip
from schemas.envelope import utc_from_micros
from streams.ledger.history import history_of
from streams.ledger.status import status_of
from streams.pages.sandbox.pool import ParsePool
from streams.runtime.agent import Delivery
from tests.hostile.servers import Script, bad_server, response
from tests.stages.test_failed_visits import PAGE, in_turn
from tests.stages.test_fetch import Stage, scheduled
from tests.stages.test_pages_that_are_away import AWAY, DAY, LATER, START, UNCHANGED, dated
from tests.stages.whole_journey import SECOND, WholeJourney

WORDS = "The river has {} bends between the bridge and the mill, and the mayor counts them each year in {}."
ARTICLE = "".join(f"<p>{WORDS.format(n, m)}</p>" for n, m in zip(range(2, 12), "abcdefghij", strict=True))
OTHER = "".join(f"<p>Nobody knows why {n} trains of the {n * 7}th line stop at the old harbour since {m}.</p>"
                for n, m in zip(range(2, 12), "abcdefghij", strict=True))  # fmt: skip
FORM = "<form action=/in><label>User<input name=u></label><input type=password name=p></form>"
SIGN_IN = f"<title>Login</title><h1>Log in</h1>{FORM}<p>Forgot it?</p>"
BOX = f"<div id=top>{FORM}</div>"
"""A box that the site shows on each page, in no element that says so."""


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


def answer(body: str, day: int = 0) -> Script:
    return response(body.encode(), etag='"1"', date=dated(day))


async def fetch(stage: Stage, asked: PageScheduled, second: int) -> PageFetched:
    """Fetch a page some seconds after the start."""
    envelope = Envelope(id=UUID(int=second), type="x", source="/test", time=utc_from_micros((START + second) * SECOND))
    (fetched,) = await stage.agent.handle(Delivery(asked, envelope, asked.topic, 0, 0))
    assert isinstance(fetched, PageFetched)
    return fetched


async def visit(
    pool: ParsePool, folder: Path, *answers: tuple[int, Script]
) -> tuple[WholeJourney, list[list[Event]], list[str]]:
    """Visit a page on some days. Returns the stages, the events of each visit, and the document after each."""
    script, found, documents = in_turn(*(one for _, one in answers)), [], []
    async with bad_server(folder, {"/x": script}) as server:
        journey = WholeJourney(pool)
        stage = Stage(server, journey.stores)
        try:
            for n, (day, _) in enumerate(answers):
                asked = scheduled(etag='"1"', generation=(START + day * DAY) * SECOND + n)
                found.append(await journey.handle(await fetch(stage, asked, 2 * n), 2 * n + 1))
                documents.append((await journey.stores.pages.get(PAGE)).normalized.document_ref)
        finally:
            await stage.agent.stop()
    return journey, found, documents


# The known page, the new one -> whether the known one stays.
ANSWERS = {
    "a sign-in page": (ARTICLE, SIGN_IN, True),
    "in Chinese": (ARTICLE, f"<h1>登录</h1>{FORM}<p>忘记密码</p>", True),
    "with a notice for browsers without scripts": (ARTICLE, f"<noscript>Please enable scripts.</noscript>{FORM}", True),
    "a step before another host": (ARTICLE, "<form method=post><input type=hidden name=SAMLRequest></form>", True),
    # Other content, whatever is beside it.
    "another text": (ARTICLE, OTHER, False),
    "another text with a box": (ARTICLE, OTHER + BOX, False),
    "a short text": (ARTICLE, "<p>The river is dry this year, and so nobody counts its bends any more.", False),
    "a site with a box on each page": (ARTICLE + BOX, BOX + "<p>This page is empty for now.", False),
    "most of the text, and a box": (ARTICLE[:400], ARTICLE[:300] + FORM, False),
    "the site's own sign-in page": (SIGN_IN, SIGN_IN.replace("Forgot it?", "New here?"), False),
    "a page that asked not to be indexed": (f"<meta name=robots content=noindex>{ARTICLE}", SIGN_IN, False),
}


@pytest.mark.parametrize(("known", "new", "stays"), ANSWERS.values(), ids=ANSWERS)
async def test_only_a_sign_in_page_in_place_of_a_page_keeps_it(
    pool: ParsePool, tmp_path: Path, known: str, new: str, stays: bool
) -> None:
    journey, (_, events), (before, after) = await visit(pool, tmp_path, (0, answer(known)), (1, answer(new, 1)))
    record = await journey.stores.pages.get(PAGE)
    settled = [(event.verdict, event.in_place) for event in events if isinstance(event, PageSettled)]
    assert (("failed", "sign_in") in settled) == stays == (after == before)
    if stays:
        status = status_of(await history_of(journey.stores, PAGE))
        assert (status.status, status.waits_for) == ("indexed", None)
        assert not [event for event in events if isinstance(event, PageNormalized | PageRemoved)]
        assert await journey.stores.blobs.get(record.fetched.body_ref or "") == known.encode(), (
            "a replay reads it again"
        )
        assert (record.fetched.outcome, record.fetched.headers["date"]) == ("refused", dated(0))
        assert record.indexed.generation == record.normalized.generation > record.removed.generation


MOVED = '<meta http-equiv=refresh content="{}"><p>You are taken to the new page.'

# The new page -> whether the known one stays. The target is asked for in each case, as a redirect's.
REFRESHES = {
    "at once": (MOVED.format("0; url=/y"), True),
    "after some seconds, to another host": (MOVED.format("5; url=https://other.example/y"), True),
    "without text": ('<meta http-equiv=refresh content="0; url=/y">', True),
    "it shows its text meanwhile": (MOVED.format("9; url=/y") + ARTICLE, False),
}


@pytest.mark.parametrize(("new", "stays"), REFRESHES.values(), ids=REFRESHES)
async def test_only_a_refresh_in_place_of_a_page_keeps_it(
    pool: ParsePool, tmp_path: Path, new: str, stays: bool
) -> None:
    journey, (_, events), (before, after) = await visit(pool, tmp_path, (0, answer(ARTICLE)), (1, answer(new, 1)))
    settled = [event.in_place for event in events if isinstance(event, PageSettled)]
    assert ("refresh" in settled) == stays == (after == before)
    (target,) = [event for event in events if isinstance(event, PageDiscovered) and event.why == "redirect"]
    assert target.url.endswith("/y")
    if stays:
        record = await journey.stores.pages.get(PAGE)
        assert (record.fetched.outcome, record.fetched.redirect_to) == ("redirect", target.url)
        assert status_of(await history_of(journey.stores, PAGE)).status == "indexed"


@pytest.mark.parametrize("content", ["60; url=/y", "3", "0; url=/x", "0; url=javascript:x()"])
async def test_a_refresh_that_is_no_redirect_is_a_page_as_others(pool: ParsePool, tmp_path: Path, content: str) -> None:
    new = answer(MOVED.format(content), 1)
    _, (_, events), (before, after) = await visit(pool, tmp_path, (0, answer(ARTICLE)), (1, new))
    assert after != before
    assert not [event for event in events if isinstance(event, PageDiscovered) and event.why == "redirect"]


SIGNED, BACK = answer(SIGN_IN), answer(ARTICLE)

# Visits after the first one, at day 0: the day, the answer, whether the first content is still there.
VISITS = {
    "for a while": [(1, SIGNED, True), (2, SIGNED, True), (9, SIGNED, True)],
    "for longer": [(1, SIGNED, True), (11, SIGNED, False)],
    "a rare visit is no reason": [(60, SIGNED, True), (61, SIGNED, False)],
    "it comes back": [(1, SIGNED, True), (2, BACK, True)],
    "behind a redirect, and then at once": [(1, AWAY, True), (2, SIGNED, True), (11, SIGNED, False)],
    "at once, and then behind a redirect": [(1, SIGNED, True), (2, AWAY, True), (3, LATER, True), (4, SIGNED, True)],
    "a refresh, for longer": [(1, answer(MOVED.format("0; url=/y")), True), (11, SIGNED, False)],
    "it is not modified": [(1, SIGNED, True), (2, UNCHANGED, True)],
}  # fmt: skip


@pytest.mark.parametrize("visits", VISITS.values(), ids=VISITS)
async def test_the_last_content_stays_for_some_days(
    pool: ParsePool, tmp_path: Path, visits: list[tuple[int, Script, bool]]
) -> None:
    answers = [(0, answer(ARTICLE)), *((day, one) for day, one, _ in visits)]
    journey, _, (_, *documents) = await visit(pool, tmp_path, *answers)
    kept = []
    for reference in documents:
        kept.append(b"bends between the bridge" in await journey.stores.blobs.get(reference))
    assert kept == [stays for *_, stays in visits]


async def test_a_second_delivery_changes_nothing(pool: ParsePool, tmp_path: Path) -> None:
    async with bad_server(tmp_path, {"/x": in_turn(BACK, SIGNED)}) as server:
        journey = WholeJourney(pool)
        stage = Stage(server, journey.stores)
        try:
            for generation in (1, 2):
                fetched = await fetch(stage, scheduled(generation=START * SECOND + generation), 2 * generation)
                first = await journey.handle(fetched, 2 * generation + 1)
            rows = (await journey.stores.pages.get(PAGE)).rows
            assert await journey.handle(fetched, 9) == first
            assert (await journey.stores.pages.get(PAGE)).rows == rows
        finally:
            await stage.agent.stop()
