"""The pages in the language of their reader: no visible word is outside of it, and caches keep languages apart.

The words are looked for in a language that nobody speaks: a catalogue in which each message stands between marks, under
the name of a language that is written from right to left. Its pages have Greek texts, so each other word of two Latin
letters outside of the marks is one that the catalogues can't have.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest
from babel.messages import Catalog
from babel.messages.pofile import write_po

from docs.generate.messages import messages
from streams.gateway.http import languages, templates
from streams.gateway.http.languages import Wording
from tests.stages.gateway_fakes import client, gateway, searchable, statement
from tests.stages.gateway_life import document, indexed
from tests.unit.gateway.test_messages import NAMES, TAGS

HTML = {"accept": "text/html"}
SEA = "Η θάλασσα είναι βαθιά και ο άνεμος φυσά δυνατά."
PAGES = [
    statement(f"https://{host}/", f"{SEA} {word}.", title=f"Θάλασσα {word}", language="el", context=["Νησιά", word])
    for host, word in (("aa.example", "Άλφα"), ("bb.example", "Βήτα"))
]
PHRASE = '"θάλασσα μου"'
PATHS = (
    "/",
    f"/search?q={quote('θάλασσα')}",
    f"/search?q={quote('θάλασσα')}&host=aa.example&sort=date&language=el",
    f"/search?q={quote('ξυλόφωνο')}+%2Dx+{quote(PHRASE)}",
    f"/ask?q={quote('θάλασσα')}",
    "/help",
    "/privacy",
    "/preferences",
    "/page",
    "/page?url=https://aa.example/",
    "/page?url=https://dd.example/",
    "/search?q=5+miles+in+km",
    "/search?q=2+gallons+in+cups",
    "/page?url=https://cc.example/",
    "/nowhere",
)
LEFT_OUT = re.compile(
    r"5 miles in km|2 gallons in cups|\S*(?:aa|bb|cc|dd)\.example\S*|\S*sqlite\.org\S*|RIFFLE_\w+|x{10,}|\b[\w-]*:\S+"
)
"""Data on these pages: hosts, settings, operators, and the query itself."""


def forget() -> None:
    languages.languages.cache_clear()
    languages.negotiate.cache_clear()
    Wording.of.__func__.cache_clear()  # type: ignore[attr-defined]  # a cached class method
    templates._compiled.cache_clear()


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue of Hebrew in which each message is English between marks."""
    catalogue = Catalog(locale="he", fuzzy=False)
    for message in messages():
        catalogue.add(message, f"⟦{message}⟧" if isinstance(message, str) else tuple(f"⟦{form}⟧" for form in message))
    content = BytesIO()
    write_po(content, catalogue)
    (tmp_path / "he.po").write_bytes(content.getvalue())
    monkeypatch.setattr(languages, "FOLDER", tmp_path)
    forget()
    yield
    monkeypatch.undo()
    forget()


class _Visible(HTMLParser):
    """Reads what people see or hear, outside of elements whose `lang` is another language than the page's."""

    VOID = frozenset({"meta", "link", "input", "br", "path", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.root: dict[str, str | None] = {}
        self._hidden: list[bool] = [False]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "html":
            self.root = given
        language = given.get("lang")
        foreign = tag in ("style", "script", "code", "pre", "kbd")
        is_hidden = foreign or (self._hidden[-1] if language is None else language != self.root.get("lang"))
        if not is_hidden:
            self.texts += [given[name] or "" for name in ("title", "aria-label", "placeholder", "alt") if name in given]
        if tag not in self.VOID:
            self._hidden.append(is_hidden)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append("\0" if self._hidden[-1] else data)


def outside(page: str) -> list[str]:
    """Return the visible words outside of all messages."""
    reader = _Visible()
    reader.feed(page)
    text, depth, kept = " ".join(reader.texts), 0, []
    for char in text:
        depth += (char == "⟦") - (char == "⟧")
        kept.append(char if depth == 0 else " ")
    return re.findall(r"[A-Za-z]{2,}", NAMES.sub("", LEFT_OUT.sub("", "".join(kept))))


async def test_no_visible_word_of_a_page_is_outside_of_the_catalogues(marked: None) -> None:
    stores = await searchable(PAGES)
    await indexed(stores, document("https://dd.example/", SEA, SEA), "<html>", statements=3)
    app = gateway(stores, deadline_seconds=20.0, limits={"publish_clicks": True, "keys": ("k" * 32,)})
    async with client(app) as web:
        faults: dict[str, list[str]] = {}
        for path in PATHS:
            answer = await web.get(path, headers={**HTML, "accept-language": "he, en;q=0.5"})
            assert '<html lang="he" dir=rtl' in answer.text, path
            assert "⟦" in answer.text, path
            faults |= {path: words} if (words := outside(answer.text)) else {}
    assert not faults, "write them as messages, as test_messages.py says"
    await app.state.gateway.close()


async def test_caches_keep_the_languages_apart() -> None:
    async with client(gateway(await searchable(PAGES), deadline_seconds=20.0)) as web:
        for tag in ("en", *TAGS):
            answer = await web.get("/", headers={**HTML, "accept-language": tag})
            assert f'<html lang="{tag}"' in answer.text
            assert {"accept-language", "cookie"} <= {each.strip().lower() for each in answer.headers["vary"].split(",")}


async def test_a_preference_is_stronger_than_the_browser() -> None:
    limits = {"keys": ("k" * 32,)}
    async with client(gateway(await searchable(PAGES), limits=limits)) as web:
        saved = await web.post("/preferences", data={"page_language": "ja"}, headers={**HTML, "accept-language": "de"})
        assert saved.status_code == 303
        shown = (await web.get("/preferences", headers={**HTML, "accept-language": "de"})).text
        assert '<html lang="ja"' in shown
        assert "Deutsch</option>" in shown
        refused = await web.post("/preferences", data={"page_language": "tlh"}, headers=HTML)
        assert refused.status_code == 303
        assert "この言語のページはありません。" in (await web.get("/preferences", headers=HTML)).text


async def test_the_api_stays_english() -> None:
    async with client(gateway(await searchable(PAGES))) as web:
        problem = (await web.get("/api/v1/search?q=", headers={"accept-language": "de"})).json()
    assert (problem["type"], problem["title"]) == ("urn:riffle:problem:query-empty", "There is nothing to search for")
