"""Visits, removals and late workers in any order: each page ends searchable with its newest text, or explained.

A run has a seed: `run_of(seed)` is the whole of it. By day some hundred runs, at night an hour of them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import pytest

from streams.crawl.fetch.http import Answer
from tests.sizes import FULL
from tests.stages.any_order import STATES, TEXTS, URLS, State, World

PARTS, RUNS = 4, 100
"""Number of parts by day, and of runs in a part: together about half a minute of CPU time."""
SECONDS_AT_NIGHT = 3_600
KEPT = (0, 337, 370, 396, 3_000_334, 3_004_177, 30_017_832)
"""Seeds of runs that once ended with a page that was lost, old or unexplained."""


def _other_state(world: World, url: str) -> State:
    """Return another state of a page. Most changes keep a text, or bring one that another page has or had."""
    chance, now = world.chance, world.site[url]
    others = [other for other in URLS if other != url]
    text = now.text or chance.choice(TEXTS)
    kinds = ["text", "text", "same", "noindex", "unlisted", "gone", "moved", "swap"]
    translations, canonicals = ["translated"] * 2 * world.has_translations, ["canonical"] * 3 * world.has_canonicals
    match chance.choice([*kinds, *translations, *canonicals]):
        case "text":
            return chance.choice(STATES)
        case "same":
            return State("page", text)
        case "translated":
            return State("page", text, language="de" if now.language == "en" else "en")
        case "canonical":
            return State("page", text, now.target, now.language, "" if now.canonical else chance.choice(others))
        case "moved":
            return State("moved", text, chance.choice(others))
        case "swap":
            other = chance.choice(others)
            world.site[other], swapped = now, world.site[other]
            return swapped if swapped.target != url else State("gone", swapped.text)
        case kind:
            return State(kind, text)


async def _act(world: World) -> None:
    chance, url = world.chance, world.chance.choice(URLS)
    match chance.choices(["visit", "change", "remove", "erase", "undo", "audience"], weights=[6, 10, 1, 1, 1, 0.5])[0]:
        case "visit":
            world.visit(url, chance.choice(["", "first", "second"]))
        case "change":
            world.site[url] = _other_state(world, url)
            world.visit(url, chance.choice(["", "first", "second"]))
        case "remove":
            await world.remove(url)
        case "erase":
            await world.erase(url)
        case "undo":
            await world.withdraw(url)
        case "audience":
            await world.set_private(private=chance.random() < 0.5)


async def live(world: World) -> list[str]:
    """Let the pages of a world change and be visited until no event is under way. Return what is wrong then."""
    for url in URLS:
        world.site[url] = world.chance.choice(STATES)
        world.visit(url)
        await world.run(world.chance.randint(0, 40))
    for _ in range(world.chance.randint(2, 8)):
        await _act(world)
        await world.run(world.chance.choice([0, 3, 10, 30, 100]))
    for url, state in world.site.items():
        if state.kind == "moved" and world.site[state.target].kind == "moved":  # no circle
            world.site[url] = State("gone", state.text)
    for url in URLS:
        world.visit(url)
        await world.run(world.chance.randint(0, 20))
    await world.run()
    return await world.faults()


def world_of(seed: int) -> World:
    """Return the world of a seed. In every second one pages change their language, too, in every third what they name
    as their canonical URL."""
    return World(seed, has_translations=seed % 2 == 1, has_canonicals=seed % 3 == 2)


def _check(
    seeds: range | tuple[int, ...], until: float = float("inf"), make: Callable[[int], World] = world_of
) -> None:
    counts = Counter[str]()
    for seed in seeds:
        if time.process_time() > until:
            break
        world = make(seed)
        assert asyncio.run(live(world)) == [], f"seed {seed}"
        counts += world.counts
    assert counts["killed"]
    assert counts["again"]


class _InTurn:
    """A server that answers with one state after the other, and stays at the last one."""

    def __init__(self, *states: State) -> None:
        self._states = list(states)

    def answer(self, url: str, etag: str | None) -> Answer:
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        return state.answer(url, etag)


@pytest.mark.parametrize("seed", range(8))
async def test_a_validator_of_an_earlier_content_is_not_sent(seed: int) -> None:
    """A lease ends before the frontier reads its answer, and the page is back at its former text by then."""
    world, (url, *_) = World(seed), URLS
    former, other = STATES[:2]
    world.site[url] = former
    world.visit(url)
    await world.run()
    world.site[url] = _InTurn(other, former)  # type: ignore[assignment]  # it answers as a state does
    world.visit(url)
    world.visit(url)
    await world.run()
    world.site[url] = former
    assert await world.faults() == []


@pytest.mark.parametrize("seed", range(4))
async def test_a_worker_that_reads_a_removal_late_takes_no_page_that_came_back(seed: int) -> None:
    """Dedup finds the page unchanged before the index has read that it was away."""
    world = World(seed)
    assert await come_and_go(world, "unlisted") == []


async def come_and_go(world: World, kind: str) -> list[str]:
    """Let all pages leave and come back while dedup and index are stopped, and dedup start first. Return the faults."""
    for visit, is_there in enumerate((True, False, True)):
        for url, state in zip(URLS, STATES, strict=True):
            world.site[url] = state if is_there else State(kind, state.text)
            world.visit(url)
        await world.run(without=("dedup", "index") if visit else ())
    await world.run(without=("index",))
    await world.run()
    return await world.faults()


def test_runs_that_once_lost_a_page() -> None:
    _check(KEPT, make=World)


@pytest.mark.parametrize("part", range(PARTS))
def test_each_page_ends_searchable_with_its_newest_text_or_explained(part: int) -> None:
    _check(range(part * RUNS, (part + 1) * RUNS))


@pytest.mark.night
@pytest.mark.timeout(3 * SECONDS_AT_NIGHT)
@pytest.mark.skipif(not FULL, reason="an hour at night")
def test_an_hour_of_runs() -> None:
    _check(range(PARTS * RUNS, 10_000_000), time.process_time() + SECONDS_AT_NIGHT)
