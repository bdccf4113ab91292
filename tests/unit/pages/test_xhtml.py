"""XHTML is read as XML, as browsers do, and as HTML if it is not well-formed."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.crawl.file_kinds import is_read_as_xml
from streams.pages.parse.xhtml import to_html
from streams.pages.sandbox.normalizing import read_document

XHTML = {"content-type": "application/xhtml+xml"}
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
)
TEXT = "The log holds the changes, and it is read after a crash."


def page(body: str, head: str = "<title>Logs</title>", before: str = '<?xml version="1.0" encoding="utf-8"?>') -> str:
    namespace = 'xmlns="http://www.w3.org/1999/xhtml"'
    return f"{before}{DOCTYPE}<html {namespace}><head>{head}</head><body>{body}</body></html>"


def read(content: str | bytes, headers: dict[str, str] = XHTML) -> str:
    body = content if isinstance(content, bytes) else content.encode()
    return read_document(body, url="https://a.example/x", headers=headers).document.text


PAGES = [
    # (page, why a reader of HTML would not show it)
    (page(f"<p>{TEXT}</p>", '<title/><script src="a.js"/>'), "an empty script takes the rest of the page"),
    (page(f"<p>{TEXT}</p>", "<title/><style/>"), "so do a title and a style"),
    (page(f"<iframe src='x'/><textarea/><p>{TEXT}</p>"), "and a frame and a field"),
    (page(f"<p><![CDATA[{TEXT}]]></p>"), "CDATA is a comment in HTML"),
    (page(f'<h:p xmlns:h="http://www.w3.org/1999/xhtml">{TEXT}</h:p>'), "elements with a prefix"),
    (page(f'<h:p xmlns:h="urn:h"><h:p xmlns:h="http://www.w3.org/1999/xhtml">{TEXT}</h:p></h:p>'), "a prefix again"),
    (page(f"<script><![CDATA[ if (a < b) {{ }} ]]></script><p>{TEXT}</p>"), "CDATA in a script"),
    (page(f"<div/><p>{TEXT}</p>", before=""), "no declaration"),
    (page(f"<p>{TEXT}").replace("</html>", ""), "it is not well-formed: HTML"),
    (f"<!doctype html><title>Logs</title><p>{TEXT}", "it is HTML with the wrong type"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "why"), PAGES)
def test_a_page_in_xhtml_has_its_text(content: str, why: str) -> None:
    assert read(content) == TEXT, why


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1"])
def test_a_page_in_xhtml_is_decoded_by_its_mark_or_declaration(encoding: str) -> None:
    text = f"Café {TEXT}"
    declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    assert read(page(f"<div/><p>{text}</p>", before=declared).encode(encoding)) == text


def test_the_characters_of_html_have_their_names_and_other_entities_are_dropped() -> None:
    assert read(page("<p>a&nbsp;b &eacute; &hellip; &LT; &amp; &#38; &own;.</p>")) == "a b é … < & & ."


def test_elements_of_other_vocabularies_keep_their_text() -> None:
    assert read(page(f'<p><d:term xmlns:d="urn:d">The log</d:term>{TEXT[7:]}</p>')) == TEXT


XHTML_1 = 'xmlns="http://www.w3.org/1999/xhtml"'
SVG, XLINK = 'xmlns:s="http://www.w3.org/2000/svg"', 'xmlns:l="http://www.w3.org/1999/xlink"'
NAMESPACES = [
    # (page, HTML; None: it is not well-formed, why)
    (f'<html {XHTML_1} lang="en"/>', '<html lang="en"></html>', "a declaration is no attribute"),
    ("<html><p:i/></html>", None, "an unknown prefix of an element"),
    ('<html p:title="x"/>', None, "and of an attribute"),
    ('<html><b xmlns:p="urn:p"/><p:i/></html>', None, "a prefix ends with its element"),
    ('<html xmlns:p="urn:p"><b xmlns:p=""><p:i/></b></html>', None, "a prefix without its namespace"),
    ('<html><b xmlns="urn:p"><i/></b><i/></html>', "<html><x-b><x-i></x-i></x-b><i></i></html>", "a default that ends"),
    ('<html xmlns:p="urn:p" p:title="x" title="y"/>', '<html title="y"></html>', "an attribute of another vocabulary"),
    ('<html xml:lang="en"/>', '<html lang="en"></html>', "a prefix that needs no declaration"),
    (f'<html {SVG} {XLINK}><s:a l:href="/x"/></html>', '<html><a xlink:href="/x"></a></html>', "a link in a picture"),
    ('<html xmlns:a="urn:a"><a:b:c/></html>', "<html><span></span></html>", "two colons"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "html", "why"), NAMESPACES)
def test_prefixes_have_their_namespaces(content: str, html: str | None, why: str) -> None:
    assert to_html(content) == (None if html is None else f"<!DOCTYPE html>{html}"), why


def test_links_have_their_addresses() -> None:
    found = read_document(
        page(f'<p>{TEXT} <a href="/y?a=1&amp;b=2">More</a></p>', '<title/><script src="a.js"/>').encode(),
        url="https://a.example/x",
        headers=XHTML,
    )
    assert [link.url for link in found.document.links] == ["https://a.example/y?a=1&b=2"]


TYPES = [
    # (Content-Type, beginning, read as XML)
    ("application/xhtml+xml; charset=utf-8", "<html>", True),
    ("application/vnd.wap.xhtml+xml", "<html>", True),
    ("text/xml", '<?xml version="1.0"?><html>', True),
    ("application/xml", "<!-- x --><html>", True),
    ("application/xml", "<invoice>", False),
    ("", '<?xml version="1.0"?><html>', True),
    ("", "<html>", False),
    ("text/html", '<?xml version="1.0"?><html>', False),
    ("text/html, application/xhtml+xml", "<html>", True),
]


@pytest.mark.parametrize(("content_type", "begin", "xml"), TYPES)
def test_the_media_type_or_the_first_bytes_say_that_a_page_is_xml(content_type: str, begin: str, xml: bool) -> None:
    assert is_read_as_xml(begin.encode(), {"content-type": content_type}) == xml


GROWING = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
DEFAULTS = "".join(f"<!ATTLIST p a{n} CDATA ''>" for n in range(40_000))
HOSTILE = [
    # (page, in the page of HTML, why)
    (f'<!DOCTYPE html [<!ENTITY a0 "grow">{GROWING}]><html><p>&a9;</p></html>', None, "entities that grow"),
    (f'<!DOCTYPE html [<!ENTITY a0 "grow">{GROWING}]><html><p title="&a9;"/></html>', None, "in an attribute"),
    (f'<!DOCTYPE html [<!ENTITY a0 "grow">{GROWING}]><html><p title="&a4;"/></html>', None, "less in an attribute"),
    ('\ufeff<!-- x --><!DOCTYPE html [<!ENTITY a0 "grow">]><html title="&a0;"/>', None, "behind a mark and a comment"),
    (f'<!DOCTYPE html [<!ATTLIST p title CDATA "{"grow" * 99}">]><html>{"<p/>" * 99}</html>', None, "a default"),
    (f"<!DOCTYPE html [{DEFAULTS}]><html/>", None, "many attributes with defaults"),
    ('<!DOCTYPE html [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><p>&e;</p></html>', None, "a file"),
    ('<!DOCTYPE html [<!ENTITY % e SYSTEM "file:///etc/passwd">%e;]><html><p>x</p></html>', None, "declarations"),
    ('<!DOCTYPE html [<!ENTITY e "&lt;script>">]><html><p>&e;</p></html>', None, "markup in an entity"),
    ("<html><pre><![CDATA[<!ENTITY a 'b'>]]></pre></html>", "&lt;!ENTITY a 'b'&gt;", "a text about declarations"),
    (f"<!--{'x' * 70_000}--><html/>", None, "a comment in front that is too long"),
    (f'<html><a xmlns:p="{"a" * 400_000}">{"<p:i/>" * 100_000}</a></html>', "<x-i></x-i>", "a long namespace"),
    ("<html>" + '<i xmlns:p="urn:p">' * 50_000 + "</i>" * 50_000 + "</html>", "<i><i>", "declared in many elements"),
    ("<html><p>&lt;script&gt;</p></html>", "&lt;script&gt;", "markup that is text stays text"),
    ('<html><p title="&quot; onload=&quot;x"/></html>', "&quot; onload=&quot;x", "quotes in an attribute stay there"),
    ("<html><script>&lt;/script>&lt;p></script></html>", "<\\/script>", "the end of a script in its text"),
    ("<html>" + "<a>" * 20_000 + "</a>" * 20_000 + "</html>", "", "depth"),
    ("<html>" + "<![CDATA[" * 50_000, None, "CDATA without end"),
    ("<html>" + "&a" * 50_000, None, "entities without end"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "part", "why"), HOSTILE)
def test_a_hostile_page_grows_and_reads_nothing(content: str, part: str | None, why: str) -> None:
    began = time.process_time()
    found = to_html(content)
    assert time.process_time() - began < 5, why
    assert found is None if part is None else found is not None and part in found
    assert "grow" not in (found or "")
    assert len(found or "") < 3 * len(content) + 1_000


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<br/>", "a", "&amp;", "&nbsp;", "<![CDATA[", "]]>", "<!--", "-->", "é", '"', "\0"]
        )
    )
)
def test_any_page_is_xml_or_not(parts: list[str]) -> None:
    found = to_html(f"<html>{''.join(parts)}</html>")
    assert found is None or found.startswith("<!DOCTYPE html><html>")
