"""Who reaches the private addresses of an origin that the operator allowed: its own pages, and nobody else."""

from typing import Any

import pytest

from streams.crawl.fetch.http import Answer
from streams.crawl.fetch.outcomes import Verdict
from streams.crawl.polite import client as polite
from streams.crawl.polite.client import Asking, PoliteClient
from streams.crawl.polite.refusals import NotAsked
from streams.settings import CrawlSettings
from streams.stores.opener import memory_stores

WIKI, EVIL, BLOG = "https://wiki.corp.example", "https://evil.example", "https://blog.corp.example"
GUARDED, ALLOWED = "guarded", "allowed"
SETTINGS = CrawlSettings(
    allowed_origins=(WIKI,), allowed_networks=("10.0.0.0/8",), rights_files=False, delay_seconds=0
)  # fmt: skip
ROBOTS = "/robots.txt"
DELETE = f"{WIKI}/delete?id=1"


class Session:
    connector = None

    def __init__(self, name: str) -> None:
        self.name = name

    async def close(self) -> None:
        """Nothing is open."""


class Web:
    """Answers each request, and notes the session that made it. The wiki is in a private network."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[str, str]] = []
        self.moved: dict[str, str] = {}
        monkeypatch.setattr(polite, "get", self.get)
        monkeypatch.setattr(polite, "open_session", lambda _: Session(GUARDED))
        monkeypatch.setattr(polite, "open_allowed_session", lambda _: Session(ALLOWED))

    async def get(self, session: Session, url: str, **_: Any) -> Answer:
        self.asked.append((url, session.name))
        if to := self.moved.get(url):
            return Answer(Verdict("redirect", redirect_to=to), 302)
        if url.startswith(WIKI) and session.name == GUARDED:
            return Answer(Verdict("guarded"))
        return Answer(Verdict("ok"), 200, {}, b"" if url.endswith(ROBOTS) else b"text")


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    return Web(monkeypatch)


# Who asks -> what it asks for, where files and pages lead, and the session of each request.
ASKERS = [
    ("its own page", f"{WIKI}/p", f"{WIKI}/data", {}, [(f"{WIKI}{ROBOTS}", ALLOWED), (f"{WIKI}/data", ALLOWED)]),
    ("a person or a program", "", f"{WIKI}/data", {}, [(f"{WIKI}{ROBOTS}", GUARDED)]),
    ("a page of another domain", f"{EVIL}/p", f"{WIKI}/data", {}, [(f"{WIKI}{ROBOTS}", GUARDED)]),
    ("a page of another origin of the domain", f"{BLOG}/p", f"{WIKI}/data", {}, [(f"{WIKI}{ROBOTS}", GUARDED)]),
    ("a page of its host with another scheme", "http://wiki.corp.example/p", f"{WIKI}/data", {},
     [(f"{WIKI}{ROBOTS}", GUARDED)]),
    ("a redirect of a public page of the domain", "", f"{BLOG}/p", {f"{BLOG}/p": f"{WIKI}/data"},
     [(f"{BLOG}{ROBOTS}", GUARDED), (f"{BLOG}/p", GUARDED), (f"{WIKI}{ROBOTS}", GUARDED)]),
    # The owner of a host may not choose what its robots.txt asks in the private network.
    ("robots.txt of another site", "", f"{EVIL}/p", {f"{EVIL}{ROBOTS}": DELETE},
     [(f"{EVIL}{ROBOTS}", GUARDED), (DELETE, GUARDED)]),
    ("robots.txt of another site, for its page", f"{EVIL}/p", f"{EVIL}/p", {f"{EVIL}{ROBOTS}": DELETE},
     [(f"{EVIL}{ROBOTS}", GUARDED), (DELETE, GUARDED)]),
    ("robots.txt of another site, for a page of the wiki", f"{WIKI}/p", f"{BLOG}/p", {f"{BLOG}{ROBOTS}": DELETE},
     [(f"{BLOG}{ROBOTS}", GUARDED), (DELETE, GUARDED)]),
    ("its own robots.txt that moved", f"{WIKI}/p", f"{WIKI}/data", {f"{WIKI}{ROBOTS}": f"{WIKI}/r"},
     [(f"{WIKI}{ROBOTS}", ALLOWED), (f"{WIKI}/r", ALLOWED), (f"{WIKI}/data", ALLOWED)]),
]  # fmt: skip


@pytest.mark.parametrize(("who", "page", "url", "moved", "asked"), ASKERS, ids=[row[0] for row in ASKERS])
async def test_only_its_own_pages_reach_an_allowed_origin(
    web: Web, who: str, page: str, url: str, moved: dict[str, str], asked: list[tuple[str, str]]
) -> None:
    web.moved = moved
    client = PoliteClient(SETTINGS, memory_stores())
    if asked[-1][1] == ALLOWED:
        await client.follow(url, Asking(page), 3)
    else:
        with pytest.raises(NotAsked, match="does not answer"):
            await client.follow(url, Asking(page), 3)
    assert web.asked == asked, who


async def test_what_strangers_find_unreachable_is_open_to_its_own_pages(web: Web) -> None:
    stores = memory_stores()
    client = PoliteClient(SETTINGS, stores)
    for page in ("", f"{EVIL}/p"):
        with pytest.raises(NotAsked, match=r"does not answer|may be asked again"):
            await client.get(f"{WIKI}/data", Asking(page))
    for each in (client, PoliteClient(SETTINGS, stores)):
        assert (await each.get(f"{WIKI}/data", Asking(f"{WIKI}/p"))).body == b"text"
