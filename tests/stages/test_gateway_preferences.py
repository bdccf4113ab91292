"""Preferences through the whole gateway: no cookie unasked, forms only from here, and stated rules for sites."""

import re
from html import unescape

import httpx2
import pytest
from fastapi import FastAPI

from streams.gateway.preferences.cookies import MESSAGE, PREFERENCES
from tests.stages.gateway_fakes import client, gateway, searchable, statement, without_script

HTML = {"accept": "text/html"}
KEY = "k" * 32
DARK = '<html lang="en" data-theme="dark">'
HERE = {"origin": "http://riffle.test", "sec-fetch-site": "same-origin", "accept": "text/html"}
ROWS = [
    statement("https://a.example/log", "The write-ahead log holds changes.", title="A"),
    statement("https://b.example/log", "A write-ahead log is a file of changes before they happen.", title="B"),
    statement("https://c.example/log", "Rivers have a log of changes.", title="C", language="de"),
]


async def app(**limits: object) -> FastAPI:
    public_url = str(limits.pop("public_url", ""))
    given = {"keys": (KEY,), **limits}
    return gateway(await searchable(ROWS), deadline_seconds=20.0, public_url=public_url, limits=given)


async def hosts(web: httpx2.AsyncClient, query: str = "write-ahead log") -> list[str]:
    page = (await web.get("/search", params={"q": query}, headers=HTML)).text
    return [unescape(host) for host in re.findall(r'<h2 dir="auto"><a href="https://([^/]+)/', page)]


async def save(web: httpx2.AsyncClient, **fields: str) -> httpx2.Response:
    return await web.post("/preferences", data=fields, headers=HERE)


async def test_no_cookie_is_set_until_a_person_sets_something() -> None:
    async with client(await app()) as web:
        for path in ("/", "/search?q=log", "/preferences", "/help", "/privacy", "/preferences/export", "/nothing"):
            answer = await web.get(path, headers=HTML)
            assert "set-cookie" not in answer.headers, path
        assert "No cookies" in (await web.get("/", headers=HTML)).text
        assert (await save(web, theme="dark")).status_code == 303
        assert PREFERENCES in web.cookies
        assert "One cookie" in (await web.get("/", headers=HTML)).text


async def test_raised_lowered_and_hidden_sites() -> None:
    async with client(await app()) as web:
        before = await hosts(web, "log")
        second = before[1]
        await save(web, raised=second)
        assert (await hosts(web, "log"))[0] == second
        page = (await web.get("/search", params={"q": "log"}, headers=HTML)).text
        assert f"your preferences raise {second}" in page
        await save(web, lowered=before[0])
        assert (await hosts(web, "log"))[0] != before[0]
        assert f"your preferences lower {before[0]}" in (await web.get("/search?q=log", headers=HTML)).text
        await save(web, hidden=before[0])
        assert before[0] not in await hosts(web, "log")
        assert before[0] not in (await web.get("/search?q=log", headers=HTML)).text, "nor in the facets"
        await web.post("/preferences/reset", headers=HERE)
        assert await hosts(web, "log") == before
        assert PREFERENCES not in web.cookies


async def test_an_action_on_a_site_leads_back_and_says_so_once() -> None:
    async with client(await app()) as web:
        form = {"site": "b.example", "rule": "hidden", "back": "/search?q=write-ahead+log"}
        answer = await web.post("/preferences/site", data=form, headers=HERE)
        assert (answer.status_code, answer.headers["location"]) == (303, "/search?q=write-ahead+log")
        for header in answer.headers.get_list("set-cookie"):
            assert "HttpOnly" in header
            assert "SameSite=lax" in header
        first = await web.get(answer.headers["location"], headers=HTML)
        assert "b.example is now hidden." in first.text
        assert first.headers["cache-control"] == "no-store"
        assert MESSAGE not in web.cookies
        second = await web.get(answer.headers["location"], headers=HTML)
        assert "b.example is now hidden." not in second.text
        assert "Cookie" in second.headers["vary"]


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "/search?\\evil", "/search?\r\nX: 1", ""])
async def test_an_action_never_leads_to_another_site(back: str) -> None:
    async with client(await app()) as web:
        form = {"site": "b.example", "rule": "raised", "back": back}
        answer = await web.post("/preferences/site", data=form, headers=HERE)
    assert (answer.status_code, answer.headers["location"]) == (303, "/preferences")


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}, {"origin": "http://["}],
)
@pytest.mark.parametrize("path", ["", "/site", "/import", "/reset"])
async def test_a_form_of_another_site_changes_nothing(path: str, headers: dict[str, str]) -> None:
    async with client(await app()) as web:
        form = {"site": "b.example", "rule": "hidden", "theme": "dark"}
        answer = await web.post(f"/preferences{path}", data=form, headers=headers | HTML)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_a_file_and_a_link_carry_preferences() -> None:
    made = await app()
    async with client(made) as web, client(made) as other:
        await save(web, raised="c.example", hidden="a.example", language="", theme="dark", per_page="20")
        exported = await web.get("/preferences/export")
        assert "attachment" in exported.headers["content-disposition"]
        file = {"file": ("riffle-preferences.json", exported.content, "application/json")}
        assert (await other.post("/preferences/import", files=file, headers=HERE)).status_code == 303
        assert (await other.get("/preferences/export")).json() == exported.json()
        page = (await web.get("/preferences", headers=HTML)).text
        link = unescape(re.findall(r'href="(/preferences/shared[^"]+)"', page)[0])
    async with client(made) as third:
        shown = await third.get(link, headers=HTML)
        assert "c.example" in shown.text
        assert "set-cookie" not in shown.headers, "nothing is applied by opening the link"
        assert DARK not in shown.text
        payload = unescape(re.findall(r'name="p" value="([^"]+)"', shown.text)[0])
        await third.post("/preferences/import", data={"p": payload}, headers=HERE)
        assert (await third.get("/preferences/export")).json() == exported.json()


async def test_language_theme_and_number_of_results() -> None:
    async with client(await app()) as web:
        await save(web, language="de", theme="dark", per_page="20")
        assert await hosts(web, "log of changes") == ["c.example"]
        page = (await web.get("/search", params={"q": "log", "language": "*"}, headers=HTML)).text
        assert DARK in page
        assert "a.example" in page
        assert DARK in (await web.get("/", headers=HTML)).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"raised": "not a site"}, "is not a site"),
        ({"raised": "a.example", "hidden": "a.example"}, "one list only"),
        ({"language": "???"}, "language"),
        ({"per_page": "1000"}, "per_page"),
        ({"theme": "<script>"}, "theme"),
    ],
)
async def test_a_wrong_field_is_explained_and_all_others_are_saved(fields: dict[str, str], words: str) -> None:
    async with client(await app()) as web:
        answer = await save(web, **{"lowered": "nonsense line\nc.example", **fields})
        page = (await web.get("/preferences", headers=HTML)).text
        kept = (await web.get("/preferences/export")).json()
    assert answer.status_code == 303
    assert words in page
    assert "“nonsense line” is not a site." in page
    assert "<script>" not in without_script(page)
    assert kept["lowered"] == ["c.example"]


async def test_a_hidden_site_leaves_a_sign_and_can_be_undone() -> None:
    async with client(await app()) as web:
        before = await hosts(web, "log")
        assert "left out" not in (await web.get("/search?q=log", headers=HTML)).text
        form = {"site": before[0], "rule": "hidden", "back": "/search?q=log"}
        await web.post("/preferences/site", data=form, headers=HERE)
        page = (await web.get("/search?q=log", headers=HTML)).text
        assert "Results of sites that you hide are left out." in page
        undo = re.search(r'<div class="notice once".*?<form action="([^"]+)".*?</form>', page, re.DOTALL)
        assert undo
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', undo[0]))
        assert fields == {"site": before[0], "rule": "", "back": "/search?q=log"}
        await web.post(undo[1], data=fields, headers=HERE)
        assert await hosts(web, "log") == before


async def test_a_forged_cookie_is_no_cookie() -> None:
    async with client(await app(keys=("x" * 32,))) as other:
        await save(other, theme="dark")
        forged = other.cookies[PREFERENCES]
    async with client(await app()) as web:
        for value in (forged, forged[:-1], "x", ""):
            page = await web.get("/", headers={**HTML, "cookie": f"{PREFERENCES}={value}"})
            assert page.status_code == 200
            assert DARK not in page.text


async def test_a_former_key_still_reads_its_cookies() -> None:
    async with client(await app()) as web:
        await save(web, theme="dark")
        cookie = f"{PREFERENCES}={web.cookies[PREFERENCES]}"
    async with client(await app(keys=("n" * 32, KEY))) as web:
        assert DARK in (await web.get("/", headers={**HTML, "cookie": cookie})).text


async def test_without_a_key_the_feature_says_so() -> None:
    async with client(await app(keys=())) as web:
        assert "keeps no preferences" in (await web.get("/preferences", headers=HTML)).text
        assert (await save(web, theme="dark")).status_code == 404
        assert "/preferences/site" not in (await web.get("/search?q=log", headers=HTML)).text


@pytest.mark.parametrize(("hides", "offered"), [(True, False), (False, True)])
async def test_adult_pages_can_be_left_out_where_the_operator_shows_them(hides: bool, offered: bool) -> None:
    async with client(await app(hide_adult=hides)) as web:
        assert ("Leave adult pages out" in (await web.get("/preferences", headers=HTML)).text) is offered


async def test_a_large_form_is_refused() -> None:
    async with client(await app()) as web:
        assert (await save(web, raised="x" * 30_000)).status_code == 413


@pytest.mark.parametrize(("public_url", "is_secure"), [("", False), ("https://riffle.test", True)])
async def test_cookies_are_secure_where_people_ask_over_https(public_url: str, is_secure: bool) -> None:
    async with client(await app(public_url=public_url)) as web:
        answer = await save(web, theme="dark")
    for header in answer.headers.get_list("set-cookie"):
        assert ("Secure" in header) is header.startswith("__Host-riffle_") is is_secure
    # A cookie of the plain name, which any host of the domain may set, counts only where there is no HTTPS.
    (value,) = re.findall(f"{PREFERENCES}=([^;]+)", " ".join(answer.headers.get_list("set-cookie")))
    async with client(await app(public_url=public_url)) as web:
        for name, counts in ((PREFERENCES, not is_secure), (f"__Host-{PREFERENCES}", is_secure)):
            page = await web.get("/", headers={**HTML, "cookie": f"{name}={value}"})
            assert (DARK in page.text) is counts
            assert "private" in page.headers["cache-control"]
        page = await web.get("/", headers={**HTML, "cookie": f"__Host-{MESSAGE}=x; {MESSAGE}=y"})
        ended = page.headers.get_list("set-cookie")
        assert [each.partition("=")[0] for each in ended] == [f"__Host-{MESSAGE}", MESSAGE]
        assert ["Secure" in each for each in ended] == [True, False], "browsers take no other end of such a cookie"


NAME = f"__Host-{PREFERENCES}"
# The header, with the value of another person's cookie, and whether the cookie counts. Another host of the domain may
# set any name that a browser does not take for one of `__Host-` (RFC 6265bis, sections 4.1.3.2, 5.7 and 5.8.3), and
# servers that read such names as ours are the way around it.
PLANTED = {
    "the own one": ("{name}={value}", True),
    "spaces that browsers send": ("a=1;  {name} = {value} ; b=2", True),
    "behind one that is no pair": ("no pair, [;] at all; {name}={value}", True),
    "behind an open quotation": ('a="b; {name}={value}; c=d"', True),
    "the plain name": (f"{PREFERENCES}={{value}}", False),
    "a space of Latin-1 before it": ("\xa0{name}={value}", False),
    "a line of Latin-1 before it": ("\x85{name}={value}", False),
    "a space of Latin-1 behind it": ("{name}\xa0={value}", False),
    "a space of Unicode before it": ("\xe2\x80\x80{name}={value}", False),
    "a cookie without a name": ("={name}={value}", False),
    "another case": (f"__hOST-{PREFERENCES}={{value}}", False),
    "another prefix": (f"__Secure-{PREFERENCES}={{value}}", False),
    "quotation marks": ('"{name}"={value}', False),
    "an encoded name": (f"__Host%2D{PREFERENCES}={{value}}", False),
    "a comma, as between former cookies": ("a=1, {name}={value}", False),
    "attributes of former cookies": ('$Version="1"; $Path={name}={value}', False),
    "within a value": ("a={name}={value}", False),
    "a part of an array": ("{name}[]={value}", False),
}


async def test_no_other_host_of_the_domain_plants_preferences() -> None:
    async with client(await app(public_url="https://riffle.test")) as web:
        answer = await save(web, theme="dark")
        (value,) = re.findall(f"{PREFERENCES}=([^;]+)", " ".join(answer.headers.get_list("set-cookie")))
        web.cookies.clear()
        counted = {}
        for why, (header, _) in PLANTED.items():
            sent = header.replace("{name}", NAME).replace("{value}", value).encode("latin-1")
            page = await web.get("/", headers=[(b"accept", b"text/html"), (b"cookie", sent)])
            counted[why] = DARK in page.text
            assert "Cookie" in page.headers["vary"]
            assert ("private" in page.headers["cache-control"]) >= counted[why]
    assert counted == {why: counts for why, (_, counts) in PLANTED.items()}
