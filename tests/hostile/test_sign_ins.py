"""Pages behind a sign-in: secrets go to one origin only, and pages are private, or public by order."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas import PageFetched, PageScheduled
from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.clock import now_micros
from streams.crawl.exchange import decode_exchange
from streams.crawl.fetch.agent import FetchAgent
from streams.crawl.fetch.sign_ins import SignIns, parse_sign_ins
from streams.crawl.urls import host_of
from streams.errors import UsageError
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import Site
from tests.hostile.callers import delivery, fetch_now, render
from tests.hostile.servers import Script, bad_server, response

WIKI, OTHER = "wiki.example", "other.example"
SECRETS = {"basic": "crawler:pass word", "cookies": {"session": "s3cret", "b": "2"}, "headers": {"X-Token": "t0ken"}}
SENT = (b"Authorization: Basic Y3Jhd2xlcjpwYXNzIHdvcmQ=", b"Cookie: session=s3cret; b=2", b"X-Token: t0ken")
PRIVATE = Site("wiki", "Wiki", (WIKI,), is_private=True)


def scheduled(url: str, purpose: Any = "page") -> PageScheduled:
    until = utc_from_micros(now_micros() + 60_000_000)
    about = {"page_id": page_id(url), "url": url, "host": host_of(url), "lease_id": page_id(url), "attempt": 1}
    return PageScheduled(**about, purpose=purpose, lease_until=until, generation=now_micros(), delay_seconds=0.0)


async def fetch(
    folder: Path, url: str, entry: dict[str, Any], stores: Stores, scripts: dict[str, Script], *, hides: bool = True
) -> tuple[PageFetched, list[bytes]]:
    file = folder / "sign-ins.json"
    file.write_text(json.dumps({f"https://{WIKI}": entry}))
    async with bad_server(folder, scripts, host=WIKI, more_hosts=[OTHER]) as server:
        settings = server.settings(WIKI, OTHER, sign_ins_file=file, delay_seconds=0)
        agent = FetchAgent(settings, stores, has_private_sites=hides)
        await agent.start(None)  # type: ignore[arg-type]  # it sends nothing
        try:
            (event,) = await agent.handle(delivery(scheduled(url)))
        finally:
            await agent.stop()
    assert isinstance(event, PageFetched)
    return event, server.requests


async def with_site(*sites: Site) -> Stores:
    stores = memory_stores()
    for site in sites:
        await stores.api_keys.put_site(site, 1)
    return stores


async def test_secrets_are_sent_to_their_origin_and_are_not_stored(tmp_path: Path) -> None:
    stores = await with_site(PRIVATE)
    page = response(b"<p>Text", set_cookie="session=renewed")
    event, requests = await fetch(tmp_path, f"https://{WIKI}/page", SECRETS, stores, {"/page": page})
    assert event.outcome == "ok"
    assert all(line in requests[0] for line in SENT)
    assert event.exchange_ref
    exchange = decode_exchange(await stores.blobs.get(event.exchange_ref))
    assert b"User-Agent: RiffleBot" in exchange.request
    stored = (
        exchange.request
        + exchange.response
        + repr(event).encode()
        + repr(await stores.pages.get(event.page_id)).encode()
    )
    assert not [secret for secret in (b"s3cret", b"t0ken", b"Authorization", b"renewed", b"Y3Jh") if secret in stored]


@pytest.mark.parametrize("url", [f"https://{OTHER}/page", f"https://{WIKI}.{OTHER}/page"])
async def test_another_host_gets_none(tmp_path: Path, url: str) -> None:
    async with bad_server(tmp_path, {"/page": response(b"<p>Text")}, host=host_of(url)) as server:
        file = tmp_path / "sign-ins.json"
        file.write_text(json.dumps({f"https://{WIKI}": SECRETS}))
        settings = server.settings(host_of(url), sign_ins_file=file, delay_seconds=0)
        agent = FetchAgent(settings, await with_site(PRIVATE), has_private_sites=True)
        await agent.start(None)  # type: ignore[arg-type]  # it sends nothing
        await agent.handle(delivery(scheduled(url)))
        await agent.stop()
    assert not [line for line in SENT if line in server.requests[0]]


@pytest.mark.parametrize("to", [f"https://{OTHER}/page", "http://wiki.example/page"])
async def test_a_redirect_takes_no_secret_along(tmp_path: Path, to: str) -> None:
    scripts = {"/old": response(status="302 Found", location=to), "/page": response(b"<p>Text")}
    event, requests = await fetch(tmp_path, f"https://{WIKI}/old", SECRETS, await with_site(PRIVATE), scripts)
    assert event.outcome == "redirect"
    assert event.redirect_to
    assert event.redirect_to.startswith("https://"), "secrets are sent over TLS only"
    assert len(requests) == 1, "the target is a request of its own"


# The sites, whether private sites are hidden, the entry -> whether the host is asked.
PRIVACY = [
    ([PRIVATE], True, SECRETS, True),
    ([Site("wiki", "Wiki", ("example",), is_private=True)], True, SECRETS, True),  # a domain above it
    ([], True, SECRETS, False),  # everybody would find its pages
    ([Site("wiki", "Wiki", (WIKI,))], True, SECRETS, False),  # a site that is not private
    ([PRIVATE], False, SECRETS, False),  # private sites are not hidden here
    ([Site("other", "Other", (OTHER,), is_private=True)], True, SECRETS, False),
    ([], False, {**SECRETS, "public": True}, True),  # the operator says so
]


@pytest.mark.parametrize(("sites", "hides", "entry", "is_asked"), PRIVACY)
async def test_what_would_not_be_private_is_not_asked_for(
    tmp_path: Path, sites: list[Site], hides: bool, entry: dict[str, Any], is_asked: bool
) -> None:
    stores = await with_site(*sites)
    scripts = {"/page": response(b"<p>Text")}
    event, requests = await fetch(tmp_path, f"https://{WIKI}/page", entry, stores, scripts, hides=hides)
    assert bool(requests) is is_asked
    if not is_asked:
        assert event.outcome == "guarded"
        assert "riffle sites add NAME --host HOST --private" in (event.error or "")


async def test_neither_fetch_now_nor_scripts_have_secrets(tmp_path: Path) -> None:
    """A stranger who asks a gateway, or whose page is rendered, reads nothing behind a sign-in."""
    file = tmp_path / "sign-ins.json"
    file.write_text(json.dumps({f"https://{WIKI}": {**SECRETS, "public": True}}))
    scripts = {"/robots.txt": response(status="404 Not Found"), "/page": response(b"<p>Sign in")}
    async with bad_server(tmp_path, scripts, host=WIKI) as server:
        settings = server.settings(WIKI, sign_ins_file=file, rights_files=False, delay_seconds=0)
        for ask in (fetch_now, render):
            await ask(settings, memory_stores(), [f"https://{WIKI}/page"])
    assert len(server.requests) == 4
    assert not [line for line in SENT for request in server.requests if line in request]


def test_the_file_is_read_again_after_a_change(tmp_path: Path) -> None:
    file = tmp_path / "sign-ins.json"
    with pytest.raises(UsageError, match="can't be used"):
        SignIns(file)
    file.write_text("{}")
    sign_ins = SignIns(file)
    found = []
    for token in ("one", "two", "a broken file"):
        text = json.dumps({f"https://{WIKI}": {"headers": {"X-Token": token}}})
        file.write_text("{" if token == "a broken file" else text)
        sign_in = sign_ins.of(f"https://{WIKI}/page")
        assert sign_in
        found.append(sign_in.headers["X-Token"])
        assert token not in repr(sign_in), "it may be printed"
    assert found == ["one", "two", "two"], "while the file is broken, the former ones hold"
    assert SignIns(None).of(f"https://{WIKI}/page") is None


# A file -> what the refusal says. No refusal names a secret.
REFUSED = [
    ("s3cret", "is no JSON object of origins"),
    ("[]", "is no JSON object of origins"),
    ('{"wiki.example": {"basic": "a:s3cret"}}', "is no origin"),
    ('{"http://wiki.example": {"basic": "a:s3cret"}}', "secrets are sent over TLS only"),
    ('{"https://*.example": {"basic": "a:s3cret"}}', "is no origin of one host"),
    ('{"https://wiki.example/path": {"basic": "a:s3cret"}}', "is no origin"),
    ('{"https://wiki.example": {}}', "there is no header, no cookie and no password"),
    ('{"https://wiki.example": {"bearer": "s3cret"}}', "give `headers`, `cookies`, `basic`"),
    ('{"https://wiki.example": {"basic": "s3cret"}}', "with a colon between"),
    ('{"https://wiki.example": {"basic": "a:s3cret", "public": "yes"}}', "`public` as true or false"),
    ('{"https://wiki.example": {"headers": {"X": "s3cret\\r\\nHost: a"}}}', "characters that it may not have"),
    ('{"https://wiki.example": {"headers": {"X Y": "s3cret"}}}', "is no name"),
    ('{"https://wiki.example": {"headers": {"Host": "s3cret"}}}', "is the client's own"),
    ('{"https://wiki.example": {"cookies": {"a": "s3cret; b=1"}}}', "characters that it may not have"),
    ('{"https://wiki.example": {"cookies": ["s3cret"]}}', "are names with their values"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_a_file_that_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_sign_ins(text, "sign-ins.json")
    assert says in str(refused.value)
    assert "s3cret" not in str(refused.value)
