"""The memory of announced links: what it holds back, and what it must never hold back."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from schemas import LinkFound, PageDiscovered
from schemas.ids import page_id
from schemas.links import MoreLink
from streams.pages.link_events import MAX_SECONDS, AnnouncedLinks

FIRST, SECOND = UUID(int=1), UUID(int=2)
HOST = "https://a.example"


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def links(*paths: str, host: str = HOST, in_content: bool = False, **fields: Any) -> LinkFound:
    """Return the event of a page of a.example with links to these paths of a host, which the crawl may follow."""
    first, *more = (MoreLink(target_url=f"{host}/{path}", in_content=in_content, follow=True) for path in paths)
    values = {"depth": 3, "crawl_id": "c", "max_depth": 9, "generation": 1, **fields}
    return LinkFound(
        target_page_id=page_id(first.target_url),
        target_host=host.removeprefix("https://"),
        source_page_id=page_id(f"{HOST}/page"),
        source_url=f"{HOST}/page",
        more=tuple(more),
        **first.model_dump(),
        **values,
    )


def canonical(path: str) -> PageDiscovered:
    """Return the event of a page of a.example that names another one as its canonical page."""
    url = f"{HOST}/{path}"
    about = {"depth": 3, "crawl_id": "c", "max_depth": 9, "referrer": f"{HOST}/page"}
    return PageDiscovered(page_id=page_id(url), url=url, host="a.example", why="canonical", **about)


def announced(memory: AnnouncedLinks, event: LinkFound, cause: UUID = SECOND) -> list[str]:
    """Return the URLs that the frontier is asked to follow."""
    kept = list(memory.drop_announced([event], cause))
    return [link.target_url for one in kept if isinstance(one, LinkFound) for link in one.links() if link.follow]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> AnnouncedLinks:
    memory = AnnouncedLinks(clock)
    memory.remember([links("0", "1", "2")], FIRST)
    return memory


def test_only_new_links_are_announced(memory: AnnouncedLinks) -> None:
    event = links("1", "3", "2", "4")
    assert announced(memory, event) == [f"{HOST}/3", f"{HOST}/4"]
    (kept,) = memory.drop_announced([event], SECOND)
    assert isinstance(kept, LinkFound)
    assert (kept.target_page_id, kept.target_url, kept.depth) == (page_id(f"{HOST}/3"), f"{HOST}/3", 3)
    assert not list(memory.drop_announced([links("0", "1")], SECOND))


def test_an_announced_link_of_the_content_is_still_an_edge(memory: AnnouncedLinks) -> None:
    (kept,) = memory.drop_announced([links("0", "3", in_content=True)], SECOND)
    assert isinstance(kept, LinkFound)
    assert [(link.target_url, link.follow) for link in kept.links()] == [(f"{HOST}/0", False), (f"{HOST}/3", True)]
    assert kept.edges() == kept
    (edge,) = memory.drop_announced([links("0", in_content=True)], SECOND)
    assert isinstance(edge, LinkFound)
    assert edge.followed() is None


def test_edges_that_the_crawl_may_not_follow_are_always_sent(memory: AnnouncedLinks) -> None:
    event = links("0", in_content=True).model_copy(update={"follow": False})
    memory.remember([event], FIRST)
    assert list(memory.drop_announced([event], SECOND)) == [event]
    assert announced(memory, links("9")) == [f"{HOST}/9"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"depth": 2}, "a shorter way: its own links may be within the crawl's depth by it"),
        ({"crawl_id": "d"}, "another crawl"),
        ({"max_depth": 10}, "other limits"),
        ({"max_pages": 10}, "another budget"),
    ],
)
def test_what_may_change_the_frontiers_decision_is_announced(
    memory: AnnouncedLinks, fields: dict[str, Any], why: str
) -> None:
    assert announced(memory, links("0", **fields)) == [f"{HOST}/0"], why


def test_a_canonical_page_is_announced_beside_a_link_to_it(memory: AnnouncedLinks) -> None:
    """It is fetched by that name, though a rule may map it to another."""
    event = canonical("0")
    assert list(memory.drop_announced([event], SECOND)) == [event]
    memory.remember([event], FIRST)
    assert not list(memory.drop_announced([event], SECOND))
    assert list(memory.drop_announced([event], FIRST)) == [event]


def test_a_longer_way_changes_nothing(memory: AnnouncedLinks) -> None:
    assert announced(memory, links("0", depth=4)) == []


def test_a_link_is_announced_again_after_a_while(memory: AnnouncedLinks, clock: Clock) -> None:
    clock.now += MAX_SECONDS - 1
    assert announced(memory, links("0")) == []
    clock.now += 1
    assert announced(memory, links("0")) == [f"{HOST}/0"]


def test_the_event_itself_is_never_held_back_by_its_own_links(memory: AnnouncedLinks) -> None:
    assert announced(memory, links("0", "1", "2"), FIRST) == [f"{HOST}/0", f"{HOST}/1", f"{HOST}/2"]


def test_links_to_hosts_that_may_become_the_crawls_are_always_announced() -> None:
    memory = AnnouncedLinks(Clock())
    elsewhere, here = links("0", host="https://b.example", same_host=True), links("0", same_host=True)
    memory.remember([elsewhere, here], FIRST)
    assert announced(memory, elsewhere) == ["https://b.example/0"]
    assert announced(memory, here) == []


def test_the_memory_is_bounded() -> None:
    memory = AnnouncedLinks(Clock(), max_links=3)
    memory.remember([links("0", "1", "2", "3", "4")], FIRST)
    assert announced(memory, links("0", "1", "2", "3", "4")) == [f"{HOST}/0", f"{HOST}/1"]
