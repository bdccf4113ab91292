# ruff: noqa: E501 - pages as they come
"""The library as a reader: loaded only where it is chosen, and nothing that it fails at costs a page or more of it."""

import asyncio
import subprocess
import sys
from typing import Any

import extruct
import pytest

from streams.errors import UsageError
from streams.pages.agent import build
from streams.pages.document.codec import decode_document
from streams.pages.metadata.structured_data_readers import reader_of
from streams.pages.normalize import normalize
from streams.pages.sandbox.pool import ParsePool
from streams.pages.sandbox.worker_messages import page_outcome
from streams.settings import Settings
from streams.stores.opener import Stores

URL = "https://site.example/page"
SCRIPT = '<script type="application/ld+json">{}</script>'
JSON_LD = SCRIPT.format('{"@type": "Article", "headline": "J"}')
MICRODATA = "<div itemscope itemtype=https://schema.org/Article><b itemprop=headline>M</b>{}</div>"
RDFA = "<div vocab=https://schema.org/ typeof=Article><b property=headline>R</b>{}</div>"
CHOSEN = Settings.model_validate({"pages": {"structured_data": "extruct"}})


def structured(page: str) -> list[Any]:
    found: list[Any] = normalize(page, url=URL, reader=reader_of("extruct")).document.facts.get("structured", [])
    return found


def headlines(page: str) -> str:
    return "".join(item.get("headline", "?") for item in structured(page))


ALL = JSON_LD + MICRODATA.format("") + RDFA.format("")
NO_ADDRESS = "<a itemprop=url property=url href=http://[2001:db8::1/>x</a>"


@pytest.mark.parametrize(
    ("why", "page", "found"),
    [
        ("nothing fails", ALL, "JMR"),
        ("a script that is no JSON", SCRIPT.format('{"@type": ') + ALL, "JMR"),
        ("no number", SCRIPT.format('{"@type": "Thing", "x": NaN}') + ALL, "JMR"),
        ("lists in lists", SCRIPT.format("[" * 5_000) + SCRIPT.format("[" * 900 + "]" * 900) + ALL, "JMR"),
        ("an address that is none, in microdata", JSON_LD + MICRODATA.format(NO_ADDRESS), "JM"),
        ("and in RDFa", JSON_LD + RDFA.format(NO_ADDRESS), "JR"),
        ("deep elements", ALL + "<div>" * 4_000, "JMR"),
        ("a zero byte", f"\0{JSON_LD}\0{MICRODATA.format(chr(0))}\0{RDFA.format(chr(0))}", "JMR"),
        ("an encoding that the page is not in", f'<?xml version="1.0" encoding="utf-16"?><meta charset=koi8-r>{ALL}', "JMR"),
        ("nothing at all", "", ""),
    ],
)  # fmt: skip
def test_what_extruct_fails_at_costs_neither_the_page_nor_the_rest(why: str, page: str, found: str) -> None:
    assert headlines(page) == found, why


def test_an_address_that_is_none_is_what_extruct_fails_at() -> None:
    for page, syntax in ((MICRODATA, "microdata"), (RDFA, "rdfa")):
        with pytest.raises(ValueError, match="IPv6"):
            extruct.extract(page.format(NO_ADDRESS), base_url=URL, syntaxes=[syntax])


@pytest.mark.parametrize(
    ("why", "script", "expected"),
    [
        ("half a character", r'{"@type": "Thing", "name": "\ud800 x"}', [{"type": "Thing", "name": "? x"}]),
        ("in a name", r'{"@type": "Thing", "\udfff": "x"}', [{"type": "Thing", "?": "x"}]),
        ("a number that no field holds", '{"@type": "Thing", "a": 1e999, "name": "x"}', []),
        ("a long number", f'{{"@type": "Thing", "a": {"9" * 30}}}', [{"type": "Thing", "a": 1e30}]),
    ],
)  # fmt: skip
def test_values_that_only_python_has_do_not_get_into_a_document(why: str, script: str, expected: list[Any]) -> None:
    page = SCRIPT.format(script)
    outcome = page_outcome(page.encode(), url=URL, headers={}, reader=reader_of("extruct"))
    assert decode_document(outcome.document).facts.get("structured", []) == expected, why


def test_items_that_refer_to_each_other_stand_once() -> None:
    page = (
        "<div vocab=https://schema.org/><div typeof=WebPage resource=#p><b property=name>P</b><link property=mainEntity resource=#a>"
        "</div><div typeof=Thing resource=#a><b property=name>A</b><link property=isPartOf resource=#p></div></div>"
    )
    (item,) = structured(page)
    assert {item["type"], item.get("mainEntity", item.get("isPartOf"))["type"]} == {"WebPage", "Thing"}


def test_it_is_not_loaded_unless_it_is_chosen() -> None:
    code = (
        "import sys; from streams.pages.sandbox.worker import START_PAGE, answer_to\n"
        "for reader, loaded in (('own', False), ('extruct', True)):\n"
        "    assert answer_to('normalize', 'https://a.example/', {}, START_PAGE, reader=reader)[0] == 'ok'\n"
        "    assert ('extruct' in sys.modules) == ('rdflib' in sys.modules) == loaded, reader\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_where_it_is_chosen_and_not_there_the_stage_says_so_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "extruct", None)  # what Python itself knows a module by that is not there
    with pytest.raises(UsageError, match=r"riffle-search\[extruct\]"):
        await build(CHOSEN, Stores())
    await build(Settings(), Stores())


async def test_a_page_that_takes_extruct_too_long_is_read_by_ours() -> None:
    slow = RDFA.format("".join(f"<p property=about typeof=Thing><b property=name>{n}</b></p>" for n in range(30_000)))
    author = MICRODATA.format("<a itemprop=author href=/ada>Ada</a>")
    async with ParsePool(1, reader="extruct") as pool:
        read, again = await asyncio.gather(
            *(pool.parse(page.encode(), url=URL, headers={}) for page in (author, author + slow))
        )
    assert read.facts["structured"][0]["author"] == "https://site.example/ada"
    assert again.facts["structured"][0]["author"] == "Ada"
