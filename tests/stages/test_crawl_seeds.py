"""The seeds of a crawl: what is sent for them, and the reason at the end for each seed that gave no page."""

from pathlib import Path
from uuid import UUID

import pytest
from typer.testing import CliRunner

from schemas.ids import page_id
from streams.allowed_origins import AllowedOrigins
from streams.cli import app
from streams.commands.pages import crawl as crawling
from streams.commands.pages.seed_reasons import explain_seeds
from streams.commands.pages.seeds import FIRST_SEEDS, describe_rewritten, first_seeds, read_seeds
from streams.crawl.seeds import as_sitemap, seed
from streams.crawl.urls import host_of
from streams.errors import UsageError
from streams.ledger.agent import LedgerAgent
from streams.ledger.history import history_of
from streams.ledger.status import status_of
from streams.stores.opener import memory_stores
from tests.stages.frontier_world import CrawlOptions, Site, World, delivery

SITES = {
    "a.example": Site(
        robots="User-agent: *\nDisallow: /private\n",
        links={"/": [], "/target": []},
        redirects={"/moved": "https://a.example/target", "/lost": "https://a.example/nothing"},
    ),
    "down.example": Site(links={"/": []}, down=True),
}
CASES = [
    # a seed, the beginning of its reason; None: it gave a page
    ("https://a.example/", None),
    ("https://a.example/moved", None),
    ("https://a.example/lost", "Not indexed: Gone"),
    ("https://a.example/nothing", "Not indexed: Gone"),
    ("https://a.example/private/x", "Refused (robots.txt of a.example disallows it)"),
    ("https://down.example/", "Waiting: the robots.txt of down.example can't be read"),
    ("https://unseen.example/", "The frontier has not seen it"),
]


async def test_each_seed_without_a_page_has_its_reason() -> None:
    world = World(SITES, CrawlOptions(delay_seconds=1, max_attempts=2), 1, 0.0)
    seeds = [seed(url, depth=0) for url, _ in CASES]
    for one in seeds[:-1]:
        world.send(one.model_copy(update={"crawl_id": "c"}))
    await world.run()
    stores = memory_stores()
    stores.frontier = world.frontier_store
    ledger = LedgerAgent(stores.ledger, max_gathering_seconds=0)
    for n, fetched in enumerate(world.answers):
        await ledger.handle(delivery(fetched, UUID(int=n), world.now))
    reasons = {url: why async for url, why in explain_seeds(stores, seeds)}
    assert reasons.keys() == {url for url, begin in CASES if begin}
    for url, begin in CASES:
        assert begin is None or reasons[url].startswith(begin), reasons[url]
    address = "https://a.example/private/x"
    private = status_of(await history_of(stores, page_id(address), address))
    assert (private.refused_by, private.next_step) == ("robots", "ask_owner"), "the frontier's row says it"


SITEMAPS = [
    ("https://a.example", "https://a.example/robots.txt"),
    ("https://a.example/", "https://a.example/robots.txt"),
    ("https://a.example/news.xml", "https://a.example/news.xml"),
    ("https://a.example/?feed=rss", "https://a.example/?feed=rss"),
]


@pytest.mark.parametrize(("named", "fetched"), SITEMAPS)
def test_which_file_names_the_pages(named: str, fetched: str) -> None:
    event = as_sitemap(seed(named, depth=5), 700)
    assert (event.url, event.purpose, event.max_depth, event.why) == (fetched, "sitemap", 1, "seed")
    assert (event.max_pages, as_sitemap(seed(named, 5, max_pages=9), 700).max_pages) == (700, 9)


def test_seeds_of_a_file_and_of_arguments_are_each_sent_once(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# two pages\nhttps://a.example/1\n\n  https://a.example/2  \nhttps://a.example/1\n")
    assert read_seeds(["https://a.example/2"], file) == ["https://a.example/2", "https://a.example/1"]
    file.write_text("# nothing\n")
    with pytest.raises(UsageError, match="name the seeds"):
        read_seeds([], file)


FILES = [
    (b"\xef\xbb\xbfhttps://a.example/\r\nhttps://b.example/\r\n", "UTF-8 with a mark, as Notepad writes it"),
    ("https://a.example/\r\nhttps://b.example/".encode("utf-16"), "UTF-16, as PowerShell and Notepad write it"),
    (b"\xfe\xff" + "https://a.example/\nhttps://b.example/".encode("utf-16-be"), "UTF-16, big end first"),
    (b"https://a.example/\rhttps://b.example/\r", "ends of lines of old systems"),
    ("\u200bhttps://a.example/\xa0\n\n  https://b.example/\t\n".encode(), "white space of a web page"),
    (b"# ours\nhttps://a.example/  # the shop\n\t# old\nhttps://b.example/#not\n", "comments, and a fragment"),
    ("# caf\xe9\nhttps://a.example/\nhttps://b.example/".encode("cp1252"), "a comment in an old encoding"),
    (b"https://a.example/\nhttps://b.example/\nhttps://a.example/\n", "one twice"),
]


@pytest.mark.parametrize(("file", "why"), FILES, ids=[row[1] for row in FILES])
def test_seeds_are_read_as_editors_write_them(tmp_path: Path, file: bytes, why: str) -> None:
    """https://github.com/scrapy/scrapy/issues/6195"""
    (tmp_path / "seeds.txt").write_bytes(file)
    found = [seed(url, 0).url for url in read_seeds([], tmp_path / "seeds.txt")]
    assert found == ["https://a.example/", "https://b.example/"], why


def test_all_seeds_that_cannot_be_crawled_are_named_at_once(tmp_path: Path) -> None:
    """https://github.com/webrecorder/browsertrix-crawler/issues/67"""
    file = tmp_path / "seeds.txt"
    file.write_text("https://a.example/\nftp://b.example/x\n# c\nhttps://192.0.2.1/\nd.example\n")
    with pytest.raises(UsageError) as caught:
        read_seeds(["mailto:x@y.example", "https://a.example/"], file)
    first, second, third = str(caught.value).splitlines()
    assert first.startswith("'mailto:x@y.example' can't be crawled")
    assert second.startswith("line 2: 'ftp://b.example/x' can't be crawled: scheme")
    assert third.startswith("line 4: 'https://192.0.2.1/' can't be crawled: host: 192.0.2.1 is an IP address")
    file.write_text("ftp://b.example/\n" * 30)
    with pytest.raises(UsageError, match=r"line 20: [^\n]*\n10 more$"):
        read_seeds([], file)


KEEP = "To keep http: RIFFLE_CRAWL__ALLOWED_ORIGINS='[\"http://plain.example\"]'"
REWRITTEN = [
    (["http://Plain.example/a"], f"http://Plain.example/a is crawled as https://plain.example/a. {KEEP}"),
    (
        ["https://a.example/", "http://plain.example/", "HTTP://b.example/"],
        f"2 seeds with http:// are crawled with https://, such as https://plain.example/. {KEEP}",
    ),
    (["https://a.example/", "b.example"], ""),
    (["http://kept.example/"], ""),
]


@pytest.mark.parametrize(("typed", "line"), REWRITTEN)
def test_the_note_about_a_rewritten_scheme(typed: list[str], line: str) -> None:
    origins = AllowedOrigins(frozenset({"http://kept.example"}))
    assert describe_rewritten(typed, [seed(url, 0, origins=origins) for url in typed]) == line


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_says_it_beside_its_result(as_json: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(*_: object, **__: object) -> int:
        return 0

    monkeypatch.setenv("RIFFLE_HOME", str(tmp_path))
    monkeypatch.setattr(crawling, "need_kafka", lambda _: None)
    monkeypatch.setattr(crawling, "run_crawl", start)
    words = ["crawl", "http://plain.example/", *(["--json"] if as_json else [])]
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, result.stdout) == (0, "")
    assert " ".join(result.stderr.split()).startswith("http://plain.example/ is crawled as https://plain.example/.")


def test_the_first_seeds_are_200_hosts_each_with_a_word_on_why() -> None:
    lines = [line for line in FIRST_SEEDS.read_text().splitlines() if line and not line.startswith("#")]
    assert [line for line in lines if len(line.partition(" # ")[2]) < 2] == [], "each says why it is here"
    seeds = read_seeds(first_seeds(), None)
    assert len({host_of(seed) for seed in seeds}) == len(seeds) == 200
    assert all(seed.startswith("https://") for seed in seeds)
