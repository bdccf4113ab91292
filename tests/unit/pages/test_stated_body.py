"""A page that scripts fill has the body of its structured data as text, and a page with a text has its own."""

import pytest

from streams.pages.normalize import normalize

BODY = (
    "The harbour was dug in 1874 by forty labourers. The pilots measure its depth each morning, before the tide turns."
)
NOTICE = "<noscript>You need to enable JavaScript to run this app.</noscript>"


def page(data: str, body: str = NOTICE) -> str:
    return f'<title>T</title><script type="application/ld+json">{data}</script><body>{body}<div id=root></div>'


CASES = [
    ("an article", page(f'{{"@type": "NewsArticle", "articleBody": "{BODY}"}}'), [BODY]),
    ("in a graph",
     page(f'{{"@graph": [{{"@type": "WebSite"}}, {{"@type": "Article", "articleBody": "{BODY}"}}]}}'), [BODY]),
    ("paragraphs", page(f'{{"articleBody": "{BODY}\\n\\n{BODY} It is deep."}}'), [BODY, f"{BODY} It is deep."]),
    ("a page without any text", page(f'{{"articleBody": "{BODY}"}}', ""), [BODY]),
    ("the longest one", page(f'[{{"articleBody": "A short one."}}, {{"articleBody": "{BODY}"}}]'), [BODY]),
    ("no body", page('{"@type": "NewsArticle", "headline": "T"}'), []),
    ("a body that is no text", page('{"articleBody": ["a", 1]}'), []),
    ("no JSON", page('{"articleBody": '), []),
    ("a body that is hardly more", page('{"articleBody": "You need a browser that runs scripts."}'),
     []),
    ("a page with a text",
     page(f'{{"articleBody": "{BODY}"}}', f"<p>{'Its own words. ' * 40}"), ["Its own words. " * 40]),
    ("only a notice", page("{}"), []),
    ("a notice in frames of its own",
     page("{}", "<noscript><div><p>Please enable <b>JavaScript</b>.</div></noscript>"), []),
    ("a whole text for readers without scripts", page("{}", f"<noscript><p>{'Its own words. ' * 40}</noscript>"),
     ["Its own words. " * 40]),
    ("nested too deep", page('{"a":' * 300 + f'{{"articleBody": "{BODY}"}}' + "}" * 300),
     []),
]  # fmt: skip


@pytest.mark.parametrize(("why", "html", "texts"), CASES)
def test_the_text_of_a_page_that_scripts_fill(why: str, html: str, texts: list[str]) -> None:
    document = normalize(html, url="https://site.example/news").document
    assert [block.text for block in document.blocks] == [text.strip() for text in texts], why


def test_a_stated_body_has_no_doubts_of_the_notice_before_it() -> None:
    notice = "<p>You need to enable JavaScript to run this app.</p><p style='opacity:.1'>Loading.</p>"
    document = normalize(
        page(f'{{"articleBody": "{BODY}\\n\\n{BODY} It is deep."}}', notice), url="https://site.example/"
    ).document
    assert [block.text for block in document.blocks] == [BODY, f"{BODY} It is deep."]
    assert not document.doubtful()
