"""What a host repeats on its pages: when it goes, and what never goes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pages.content.host_boilerplate import BLOCKS_PER_PAGE, MIN_PAGES, MIN_SHARE, block_hash, template_of
from streams.pages.normalize import explain, normalize
from streams.stores.row_codec import HOST_PAGE_BLOCKS

URL = "https://shop.example/teapot"
OFFER = "Join our club today and get ten percent off your first order above fifty."
HEADING = "What everybody should know before they buy anything at all here"
OWN = "<p>This sentence, one of several, says what a page of a shop says about its subject, at some length.</p>" * 4
PAGE = f"<title>Teapot</title><main><h1>Teapot</h1>{OWN}<p>{OFFER}</p><h2>{HEADING}</h2>{OWN}</main>"


def texts(page: str, template: set[int], url: str = URL) -> list[str]:
    return [block.text for block in normalize(page, url=url, template=template).document.blocks]


def test_a_paragraph_of_the_hosts_goes_and_says_why() -> None:
    assert OFFER in texts(PAGE, set())
    assert OFFER not in texts(PAGE, {block_hash(OFFER)})
    assert (OFFER, "repeated on the host's other pages") in explain(PAGE, URL, template={block_hash(OFFER)})


@pytest.mark.parametrize(
    ("text", "markup", "why"),
    [
        (HEADING, f"<h2>{HEADING}</h2>", "a heading says how the page is made"),
        (HEADING, f"<h2><span><div>{HEADING}</div></span></h2>", "also with elements within"),
        ("Ships from our warehouse", "<p>Ships from our warehouse</p>", "short texts repeat for many reasons"),
        (OFFER, f"<table><tr><th>Offer<td>{OFFER}</table>", "a cell is one of a row"),
        (OFFER, f"<dl><dt>Offer<dd>{OFFER}</dl>", "so is a definition"),
        (OFFER, f"<pre>{OFFER}</pre>", "code"),
        (OFFER, f"<blockquote><p>{OFFER}</p></blockquote>", "a quotation was chosen for the page"),
    ],
)
def test_parts_of_the_pages_own_form_stay(text: str, markup: str, why: str) -> None:
    assert text in texts(f"<title>T</title><main><h1>T</h1>{OWN}{markup}{OWN}</main>", {block_hash(text)}), why


def test_a_page_that_would_lose_much_loses_nothing() -> None:
    own = OWN[3:].partition("<")[0]
    assert texts(PAGE, {block_hash(own), block_hash(OFFER)}) == texts(PAGE, set())


@pytest.mark.parametrize("url", ["https://shop.example", "https://shop.example/", "https://shop.example/?lang=en"])
def test_the_front_page_keeps_what_the_host_says_everywhere(url: str) -> None:
    assert OFFER in texts(PAGE, {block_hash(OFFER)}, url)


def test_a_document_of_ours_and_a_site_that_a_quirk_knows_are_left_alone() -> None:
    url = "https://en.wikipedia.org/wiki/Teapot"
    page = f"<div id=content class=mw-parser-output><h1>Teapot</h1>{OWN}<p>{OFFER}</p></div>"
    assert OFFER in texts(page, {block_hash(OFFER)}, url)
    assert normalize(page, url=url, template=set()).repetition is None


def test_what_counts_for_the_other_pages_is_what_may_repeat_removed_or_not() -> None:
    own = OWN[3:].partition("<")[0]
    for template in (set(), {block_hash(OFFER)}):
        repetition = normalize(PAGE, url=URL, template=template).repetition
        assert repetition is not None
        assert repetition.blocks == (block_hash(own), block_hash(OFFER))
        assert repetition.removed == tuple(template)


def test_nobody_asks_nothing_is_counted() -> None:
    assert normalize(PAGE, url=URL).repetition is None


def test_of_a_long_page_the_first_and_the_last_blocks_count() -> None:
    paragraphs = [f"Paragraph number {number} of a page that goes on for very long." for number in range(1000)]
    repetition = normalize(f"<main>{''.join(f'<p>{text}</p>' for text in paragraphs)}", url=URL, template=()).repetition
    assert repetition is not None
    assert repetition.blocks == tuple(block_hash(text) for text in paragraphs[:64] + paragraphs[-64:])
    assert BLOCKS_PER_PAGE == HOST_PAGE_BLOCKS


@pytest.mark.parametrize(
    ("pages", "holding", "is_template"),
    [
        (MIN_PAGES - 1, MIN_PAGES - 1, False),  # too few pages to tell
        (MIN_PAGES, MIN_PAGES, True),
        (20, 16, True),
        (20, 15, False),  # on many, not on nearly all
    ],
)
def test_a_block_is_the_hosts_when_nearly_all_of_enough_pages_hold_it(
    pages: int, holding: int, is_template: bool
) -> None:
    sample = [(7, 7, 100 + number) if number < holding else (100 + number,) for number in range(pages)]
    assert template_of(sample) == ({7} if is_template else set())


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=40))
def test_whatever_is_the_hosts_stands_on_that_share_of_its_pages(pages: list[list[int]]) -> None:
    template = template_of(pages)
    assert all(sum(block in page for page in pages) >= MIN_SHARE * len(pages) for block in template)
    assert not template or len(pages) >= MIN_PAGES
    assert template == template_of(pages[::-1])
