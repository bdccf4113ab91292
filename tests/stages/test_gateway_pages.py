"""The gateway's pages for people: their content, the escaping, and the pages of failures."""

import asyncio
import re
from collections import Counter
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from schemas.ids import page_id
from streams.gateway.http.templates import source_hash
from streams.gateway.search import html as search_html
from streams.models.memory import MemoryEmbedder
from streams.stores.memory import MemoryIndex
from streams.stores.opener import Stores
from streams.stores.protocols import Fingerprint
from tests.stages.gateway_fakes import OWN_SCRIPT, Dead, client, gateway, searchable, statement, without_script

HTML = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
WAL = statement(
    "https://sqlite.org/wal.html", "The write-ahead log.", title="Write-Ahead Logging", context=["Overview"]
)

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'-alert(1)-'",
    "</title><script>alert(1)</script>",
    "</textarea></pre><iframe src=javascript:alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "javascript:alert(1)",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<!--<script>-->",
    "\u202e<b>reversed</b>",
]
ALLOWED_TAGS = frozenset(
    re.findall(
        r"\w+",
        "html head meta title link style body a header main h1 h2 h3 form label input button section ul ol li details "
        "summary p article div span mark footer nav svg path circle strong dl dt dd time pre code select option "
        "fieldset legend kbd bdi textarea table thead tbody tr th td q br nav",
    )
)


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_no_text_of_a_page_or_a_person_becomes_markup(hostile: str) -> None:
    url = "https://evil.example/" + hostile.replace("/", "%2F").replace("#", "")
    page = statement(url, f"log {hostile}", title=hostile, context=[hostile, "log"], language='en" onload="alert(1)')
    page["host"] = hostile
    app = gateway(await searchable([page, WAL]))
    async with client(app) as web:
        response = await web.get("/search", params={"q": f"log {hostile}"}, headers=HTML)
    assert response.status_code == 200
    assert_harmless(response.text)
    assert "49" not in re.sub(r"\d+ ms", "", without_script(response.text))


FURTHER = " ".join(
    (
        "<svg/onload=alert(1)>", "<a\x0bonclick=alert(1)>", "` onerror=alert(1)",
        '<p title="</noscript><img src onerror=1>">',
        "<base href=//evil.example/>", "<meta http-equiv=refresh content=0;url=javascript:1>", "\uff1cscript\uff1e",
        "%253Cscript%253E", "&#x3c;script&#x3e;", "</option></select><object data=x>", "]]><x:script>", "vbscript:x",
        "data:text/html,<script>", "<isindex action=javascript:1>", "\u2028<style>*{}</style>", "${7*7}", "{%7*7%}",
    )
)  # fmt: skip
"""Further texts for each place of HTML (sections 13.1 and 13.2): names, attributes, raw texts, addresses, templates."""
PARAMETERS = (
    "q", "url", "page", "by", "then", "host", "language", "sort", "cursor", "published", "filetype", "after", "before",
    "ask", "p", "c", "note", "format", "include", "exclude", "per_page", "explain", "back", "site",
)  # fmt: skip


def html_routes(routes: Any) -> set[str]:
    """The paths of routes that answer GET."""
    found = set[str]()
    for route in routes:
        if router := getattr(route, "original_router", None):
            found |= html_routes(router.routes)
        elif "GET" in (getattr(route, "methods", None) or ()):
            found.add(route.path)
    return found


async def test_no_parameter_of_any_route_becomes_markup() -> None:
    app = gateway(await searchable([WAL]), limits={"publish_clicks": True, "keys": ("k" * 32,)}, deadline_seconds=20)
    hostile = quote(FURTHER, safe="")
    paths = {re.sub(r"\{[^}]+\}", hostile, path) for path in html_routes(app.routes)}
    asked = [f"{path}?{'&'.join(f'{name}={hostile}' for name in PARAMETERS)}" for path in sorted(paths)]
    asked += [f"/search?q=log&{name}={hostile}" for name in PARAMETERS]  # one is wrong, and all others are right
    kinds = Counter[str]()
    async with client(app) as web:
        for path in asked:
            answer = await web.get(path, headers=HTML)
            assert answer.status_code < 500 or path.startswith("/readyz"), (path, answer.text[:200])
            kind = answer.headers.get("content-type", "").partition(";")[0]
            kinds[kind] += 1
            if kind == "text/html":
                assert_harmless(answer.text)
            elif kind.endswith("xml"):
                ElementTree.fromstring(answer.text)
            assert kind or not answer.content, path
    assert kinds["text/html"] > 30, kinds
    await app.state.gateway.close()


def assert_harmless(html: str) -> None:
    """Every tag is one of the templates', no attribute runs anything, and every link leads to the web.

    The page's own script is left out: the policy of the page allows exactly its text.
    """
    html = without_script(html)
    for tag, attributes in re.findall(
        r"<\s*/?\s*([a-zA-Z!][\w!-]*)((?:\s+[^<>\"']*(?:\"[^\"]*\"|'[^']*')?)*)\s*/?>", html
    ):
        assert tag.lower() in ALLOWED_TAGS | {"!doctype"}, f"<{tag}> is no tag of the templates"
        names = re.findall(r"([\w-]+)\s*=", re.sub(r"\"[^\"]*\"", '""', attributes))
        assert not [name for name in names if name.lower().startswith("on")], f"<{tag}{attributes}> runs something"
    assert "<script" not in html.lower()
    for link in re.findall(r'(?:href|src|action)="([^"]*)"', html):
        assert re.match(r"/(?!/)|#|https://", link), f"{link} does not lead to the web"


@pytest.mark.parametrize("has_script", [True, False])
async def test_responses_forbid_other_scripts_frames_and_third_parties(has_script: bool) -> None:
    async with client(gateway(await searchable([WAL]), limits={"suggestions": has_script})) as web:
        page = (await web.get("/")).text
        assert page.count("<script") == page.count(f"<script>{OWN_SCRIPT}</script>") == has_script
        allowed = [source_hash(OWN_SCRIPT)] if has_script else []
        for path in ("/", "/search?q=log", "/nowhere", "/api/v1/search?q=log", "/api/v1/search", "/static/x"):
            headers = (await web.get(path)).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert re.findall(r"script-src ([^;]*)", headers["content-security-policy"]) == allowed
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert "set-cookie" not in headers


async def test_a_result_shows_title_breadcrumb_statement_in_context_and_a_link_to_its_history() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        html = (await web.get("/search?q=log", headers=HTML)).text
    assert '<a href="https://sqlite.org/wal.html" rel="noopener nofollow">Write-Ahead Logging</a>' in html
    assert "<bdi>sqlite.org</bdi>" in html
    assert "<bdi>Overview</bdi>" in html
    assert "<mark>log</mark>" in html
    assert 'href="/page?url=https%3A%2F%2Fsqlite.org%2Fwal.html"' in html


async def test_a_result_shows_the_number_of_similar_pages_and_links_to_them() -> None:
    stores = await searchable([WAL])
    copies = ["https://copy.example/wal.html?a=1", "javascript:alert(1)", "https://copy.example/<script>"]
    for url in (WAL["url"], *copies):
        await stores.fingerprints.put(Fingerprint(page_id(url), "same", 1, url, 1), 1)
        await stores.fingerprints.set_representative(page_id(url), WAL["page_id"], 1)
    async with client(gateway(stores)) as web:
        html = (await web.get("/search?q=log", headers=HTML)).text
    assert "About this result, 3 similar pages: " in html
    assert 'href="https://copy.example/wal.html?a=1" rel="noopener nofollow">copy.example/wal.html?a=1</a>' in html
    assert_harmless(html)


async def test_an_empty_result_page_shows_what_to_do() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        html = (await web.get("/search?q=log&host=nowhere.example", headers=HTML)).text
    assert "Nothing was found for “log”" in html
    assert 'href="/search?q=log">Search without the filters' in html


async def test_a_query_with_quotation_marks_gets_no_further_ones() -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        html = (await web.get('/search?q="no such words"', headers=HTML)).text
    assert "Nothing was found for &#34;no such words&#34;<" in html
    assert "newest first</a>" not in html, "there is nothing to order"


@pytest.mark.parametrize(
    ("language", "expected"),
    [("ar", 'lang="ar" dir="rtl"'), ("he", 'lang="he" dir="rtl"'), ("en", 'lang="en"'), ("x-no", 'lang="x-no"')],
)
async def test_a_result_begins_at_the_side_where_its_language_begins(language: str, expected: str) -> None:
    stores = await searchable([statement("https://a.example/", "The log.", language=language)])
    async with client(gateway(stores)) as web:
        html = (await web.get("/search?q=log", headers=HTML)).text
    assert f"<article {expected}>" in html


async def test_a_partial_answer_is_marked_as_incomplete() -> None:
    stores = await searchable([WAL])
    stores.embedder = Dead()
    async with client(gateway(stores)) as web:
        html = (await web.get("/search?q=log", headers=HTML)).text
    assert "These results are incomplete." in html
    assert "meaning was not searched" in html


ERRORS = [
    # path, status, text on the page
    ("/search?q=%00", 400, "The query is not text"),
    ("/search?q=%22%3E%3Cscript%3E%00&host=%22onfocus=x", 400, "The query is not text"),
    ("/search?q=" + "x" * 2_001, 400, "The query is too long"),
    ("/search?q=log&page=x", 400, "A parameter is not valid"),
    ("/nowhere", 404, "There is no such page"),
    ("/static/../app.py", 404, "There is no such page"),
    ("/page?url=ftp%3A%2F%2Fa.example", 400, "not the address of a web page"),
]


@pytest.mark.parametrize(("path", "status", "text"), ERRORS)
async def test_errors_are_pages_for_people_and_problems_for_programs(path: str, status: int, text: str) -> None:
    async with client(gateway(await searchable([WAL]))) as web:
        page = await web.get(path, headers=HTML)
        problem = await web.get(path, headers={"accept": "application/json"})
    assert (page.status_code, problem.status_code) == (status, status)
    assert text in page.text
    assert page.headers["content-type"].startswith("text/html")
    assert_harmless(page.text)
    assert problem.headers["content-type"] == "application/problem+json"
    assert text in problem.json()["title"]


@pytest.mark.usefixtures("patient")
async def test_without_the_index_people_can_try_again() -> None:
    stores = await searchable([WAL])
    stores.vectors = Dead()
    async with client(gateway(stores)) as web:
        response = await web.get("/search?q=log", headers=HTML)
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    assert "Search is not available now" in response.text
    assert 'value="log"' in response.text
    assert '<a class="button" href="/search?q=log">Try again</a>' in response.text


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that waits for the search before the head leaves, so that the page has an exact status."""
    monkeypatch.setattr(search_html, "FIRST_PAINT_SECONDS", 5.0)


class Slow(MemoryEmbedder):
    """An embedder that takes longer than the first paint waits."""

    async def embed(self, texts: Any, role: Any, **options: Any) -> Any:
        await asyncio.sleep(search_html.FIRST_PAINT_SECONDS * 10)
        return await super().embed(texts, role)


@pytest.mark.parametrize(
    ("vectors", "ends_with"), [(None, "Write-Ahead Logging"), (Dead(), "Search is not available now")]
)
async def test_a_slow_search_is_one_whole_page(vectors: Any, ends_with: str) -> None:
    stores = await searchable([WAL])
    stores.embedder = Slow()
    stores.vectors = vectors or stores.vectors
    async with client(gateway(stores)) as web:
        html = (await web.get("/search?q=log", headers=HTML)).text
    assert html.count("<!doctype html>") == html.count("<h1") == html.count("</html>") == 1
    assert ends_with in html


@pytest.mark.usefixtures("patient")
async def test_an_internal_fault_shows_no_details() -> None:
    class Broken(MemoryIndex):
        async def candidates(self, **keywords: Any) -> Any:
            raise RuntimeError("secret detail")

    stores = await searchable([WAL])
    stores.vectors = Broken()
    async with client(gateway(stores)) as web:
        page = await web.get("/search?q=log", headers=HTML)
        problem = await web.get("/api/v1/search?q=log")
    assert (page.status_code, problem.status_code) == (500, 500)
    assert problem.json()["type"] == "urn:riffle:problem:internal"
    assert "secret" not in page.text + problem.text


async def test_an_internal_fault_behind_the_head_ends_the_page_in_words() -> None:
    class Broken(MemoryIndex):
        async def candidates(self, **keywords: Any) -> Any:
            raise RuntimeError("secret detail")

    stores = await searchable([WAL])
    stores.embedder, stores.vectors = Slow(), Broken()
    async with client(gateway(stores)) as web:
        page = (await web.get("/search?q=log", headers=HTML)).text
    assert "Something failed in the gateway" in page
    assert page.rstrip().endswith("</html>")
    assert "secret" not in page


async def test_no_cache_keeps_a_description_with_the_clients_host() -> None:
    async with client(gateway(Stores(), profile="production", allowed_hosts=())) as web:
        reflected = await web.get("/opensearch.xml", headers={"host": "evil.example"})
    assert (reflected.headers["cache-control"], reflected.headers["vary"]) == (
        "no-store",
        "Accept-Language, Cookie, Host",
    )
    async with client(gateway(Stores(), public_url="https://search.example/", allowed_hosts=("*",))) as web:
        configured = await web.get("/opensearch.xml", headers={"host": "evil.example"})
    assert "evil" not in configured.text
    assert "https://search.example/search?q={searchTerms}" in configured.text
    assert "max-age" in configured.headers["cache-control"]


async def test_static_files() -> None:
    async with client(gateway(Stores())) as web:
        assert "Disallow: /search" in (await web.get("/robots.txt")).text
        assert "http://riffle.test/search?q={searchTerms}" in (await web.get("/opensearch.xml")).text
        assert (await web.get("/favicon.ico")).headers["content-type"] == "image/svg+xml"
        icon = re.search(r'href="(/static/riffle\.[0-9a-f]+\.svg)"', (await web.get("/")).text)
        assert icon
        assert "immutable" in (await web.get(icon[1])).headers["cache-control"]
        assert (await web.head("/")).status_code == 200


ALL_LANGUAGES = [
    # the operator's languages, the parameters, all languages are offered, their filter can be removed
    ((), {}, False, False),
    (("en",), {}, True, False),
    (("en",), {"language": "de"}, False, False),
    (("en",), {"language": "*"}, False, True),
]


@pytest.mark.parametrize(("operator", "parameters", "offered", "removable"), ALL_LANGUAGES)
async def test_where_languages_are_left_out_all_are_one_click_away(
    operator: tuple[str, ...], parameters: dict[str, str], offered: bool, removable: bool
) -> None:
    german = statement("https://fluesse.example/", "The log of a Fluss.", language="de")
    app = gateway(await searchable([WAL, german]), languages=operator)
    async with client(app) as web:
        shown = (await web.get("/search", params={"q": "log", **parameters}, headers=HTML)).text
        nothing = (
            await web.get("/search", params={"q": "log", "host": "none.example", **parameters}, headers=HTML)
        ).text
    assert ('href="/search?q=log&amp;language=%2A"><span>All languages' in shown) is offered
    assert ("</span><span>All languages" in shown) is removable
    everywhere = "&amp;language=%2A" if operator else ""
    assert f'href="/search?q=log{everywhere}">Search without the filters' in nothing
