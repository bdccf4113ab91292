"""A page with known content answers with a temporary redirect, such as to a sign-in page: its content stays for now."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from schemas import PageDiscovered, PageRemoved
from streams.crawl.frontier import outputs
from streams.crawl.frontier.decisions import apply_fetch, queue_url
from streams.crawl.frontier.policy import Policy
from streams.crawl.frontier.scheduling.recrawl import MAX_FAILURES, failed_seconds
from streams.crawl.last_content import MAX_AWAY_SECONDS
from streams.crawl.urls import host_of
from streams.settings import CrawlSettings
from tests.hostile.servers import Script, bad_server, response
from tests.inline_sandbox import inline_parse_pool
from tests.stages.test_failed_visits import PAGE, in_turn
from tests.stages.test_fetch import URL, Stage, run, scheduled
from tests.stages.test_unchanged_and_removed_pages import BODY
from tests.stages.whole_journey import WholeJourney

DAY, START = 86_400, 1_700_000_000
AWAY, MOVED = response(status="302 Found", location="/sign-in"), response(status="301 Moved", location="/new")
UNCHANGED, LATER = response(status="304 Not Modified"), response(status="503 Later")


def dated(day: int) -> str:
    return f"{datetime.fromtimestamp(START + day * DAY, UTC):%a, %d %b %Y %H:%M:%S GMT}"


# Visits after the first one, at day 0: the day, the answer -> whether the last content is kept.
VISITS = {
    "a sign-in for a while": [(1, AWAY, True), (2, AWAY, True), (9, AWAY, True)],
    "for longer": [(1, AWAY, True), (11, AWAY, False)],
    "a rare visit is no reason": [(60, AWAY, True), (61, AWAY, False)],
    "a failure between": [(60, AWAY, True), (61, LATER, True), (62, AWAY, True), (63, AWAY, False)],
    "it comes back": [(1, AWAY, True), (2, UNCHANGED, True), (60, AWAY, True)],
    "a 304 renews its content": [
        (50, response(status="304 Not Modified", date=dated(50)), True), (51, AWAY, True), (59, AWAY, True),
        (61, AWAY, False),
    ],
    "a date in the future renews nothing": [
        (50, response(status="304 Not Modified", date=dated(900)), True), (51, AWAY, True), (59, AWAY, False),
    ],
    "a move": [(1, AWAY, True), (2, MOVED, False)],
}  # fmt: skip


@pytest.mark.parametrize("visits", VISITS.values(), ids=VISITS)
async def test_the_last_content_stays_for_some_days(tmp_path: Path, visits: list[tuple[int, Script, bool]]) -> None:
    script = in_turn(response(BODY.encode(), etag='"1"', date=dated(0)), *(answer for _, answer, _ in visits))
    async with inline_parse_pool() as pool, bad_server(tmp_path, {"/x": script}) as server:
        journey = WholeJourney(pool)
        stage, kept = Stage(server, journey.stores), []
        try:
            for day in [0, *(day for day, *_ in visits)]:
                asked = scheduled(etag='"1"', generation=(START + day * DAY) * 1_000_000)
                (fetched,), (again,) = await stage.fetch(asked), await stage.fetch(asked)
                assert fetched == again, "a redelivery makes no request"
                await journey.handle(fetched, day)
                kept.append(bool(fetched.body_ref))
                if fetched.outcome == "redirect":
                    assert fetched.redirect_to
        finally:
            await stage.agent.stop()
    assert kept == [True, *(is_kept for *_, is_kept in visits)]


async def test_a_page_that_was_never_read_has_nothing_to_keep(tmp_path: Path) -> None:
    ((first,), (second,)), _, _ = await run(tmp_path, AWAY, scheduled(), scheduled())
    assert (first.body_ref, second.body_ref) == (None, None)


@pytest.mark.parametrize(("answer", "leaves"), [(AWAY, False), (MOVED, True)])
async def test_the_frontier_removes_only_a_page_that_moved_and_follows_both(
    tmp_path: Path, answer: Script, leaves: bool
) -> None:
    visits = [scheduled(generation=1), scheduled(generation=2)]
    found, _, _ = await run(tmp_path, in_turn(response(b"<p>Hi", etag='"1"'), answer), *visits)
    discovered = PageDiscovered(page_id=PAGE, url=URL, host=host_of(URL), why="seed", depth=0)
    url = queue_url(discovered, None, "", 0, 0)
    for (event,) in found:
        url = apply_fetch(
            url, event.model_copy(update={"retryable": False}), 0, Policy.of(CrawlSettings()), event.generation
        )
        sent = outputs.fetch_outputs(event, url)
    assert [type(event) for event in sent] == [PageRemoved, PageDiscovered][not leaves :]
    assert url.etag == (None if leaves else '"1"')


def test_visits_of_a_page_that_is_away_end_after_it_counts_as_moved() -> None:
    waits = [failed_seconds(0, failures) for failures in range(1, MAX_FAILURES)]
    assert sum(waits) > MAX_AWAY_SECONDS
