# ruff: noqa: E501 - pages as they come
"""Quirks: what stays of a page of the site, and what each declaration removes."""

import pytest

from streams.pages.normalize import explain, normalize
from streams.pages.quirks import quirk_of

URL = "https://en.wikipedia.org/wiki/Teapot"


def heading(title: str, rank: int = 2) -> str:
    return (
        f'<div class="mw-heading mw-heading{rank}"><h{rank} id="{title.replace(" ", "_")}">{title}</h{rank}>'
        f'<span class="mw-editsection"><span class="mw-editsection-bracket">[</span><a href="/w/index.php?action=edit">'
        f'<span>edit-link</span></a><span class="mw-editsection-bracket">]</span></span></div>'
    )


ARTICLE = f"""<!DOCTYPE html><html class="client-nojs vector-feature-language-in-header-enabled" lang="en" dir="ltr"><head>
<meta charset="UTF-8"><title>Teapot - Wikipedia</title></head>
<body class="skin--responsive skin-vector skin-vector-search-vue mediawiki ltr sitedir-ltr mw-hide-empty-elt ns-0 ns-subject page-Teapot">
<a class="mw-jump-link" href="#bodyContent">jump-link-outside</a>
<div class="vector-header-container"><header class="vector-header mw-header no-font-mode-scale"><nav aria-label="Site">
<div class="vector-dropdown vector-main-menu-dropdown">main-menu</div></nav></header></div>
<div class="mw-page-container"><div class="mw-page-container-inner"><div class="vector-sitenotice-container"><div id="siteNotice">site-notice</div></div>
<div class="vector-column-start"><nav id="mw-panel-toc" class="mw-table-of-contents-container"><div class="vector-toc">table-of-contents</div></nav></div>
<div class="mw-content-container"><main id="content" class="mw-body">
<header class="mw-body-header vector-page-titlebar no-font-mode-scale"><nav aria-label="Contents" class="vector-toc-landmark">
<div class="vector-dropdown vector-page-titlebar-toc">toc-button</div></nav>
<h1 id="firstHeading" class="firstHeading mw-first-heading"><span class="mw-page-title-main">Teapot</span></h1>
<div id="p-lang-btn" class="vector-dropdown mw-portlet mw-portlet-lang">60 languages</div></header>
<div class="vector-page-toolbar vector-feature-custom-font-size-clientpref--excluded"><nav>Article Talk page-toolbar</nav></div>
<div class="vector-column-end no-font-mode-scale"><div class="vector-sticky-pinned-container">tools-column</div></div>
<div id="bodyContent" class="vector-body ve-init-mw-desktopArticleTarget-targetContainer" data-mw-ve-target-container>
<div class="vector-body-before-content"><div class="mw-indicators"><div id="mw-indicator-good-star">indicator</div></div>
<div id="siteSub" class="noprint">From Wikipedia, the free site-subtitle</div></div>
<div id="contentSub"><div id="mw-content-subtitle"><span class="mw-redirectedfrom">redirected-from</span></div></div>
<div id="jump-to-nav"></div><a class="mw-jump-link" href="#mw-head">jump-link</a>
<div id="mw-content-text" class="mw-body-content"><div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr">
<div class="shortdescription nomobile noexcerpt noprint searchaux" style="display:none">short-description</div>
<style data-mw-deduplicate="TemplateStyles:r1">.mw-parser-output .hatnote{{font-style:italic}}</style>
<div role="note" class="hatnote navigation-not-searchable">For other uses, see <a href="/wiki/Teapot_(disambiguation)">hatnote</a>.</div>
<table class="box-More_citations_needed plainlinks metadata ambox ambox-content ambox-Refimprove" role="presentation"><tbody><tr><td class="mbox-text">maintenance-box</td></tr></tbody></table>
<p class="mw-empty-elt"></p>
<table class="sidebar nomobile nowraplinks hlist"><tbody><tr><td class="sidebar-pretitle">sidebar</td></tr></tbody></table>
<table class="infobox"><tbody><tr><th class="infobox-label">Material</th><td class="infobox-data">Stoneware</td></tr></tbody></table>
<figure class="mw-default-size mw-halign-right" typeof="mw:File/Thumb"><a href="/wiki/File:T.jpg" class="mw-file-description">
<img src="//upload.wikimedia.org/t.jpg" class="mw-file-element"></a><figcaption>figure-caption</figcaption></figure>
<div class="thumb tright"><div class="thumbinner"><div class="thumbcaption">thumb-caption</div></div></div>
<p>A <b>teapot</b> is a vessel for <a href="/wiki/Tea" title="Tea">tea</a>.<sup id="cite_ref-1" class="reference"><a href="#cite_note-1"><span class="cite-bracket">[</span>1<span class="cite-bracket">]</span></a></sup> It holds<sup class="noprint Inline-Template Template-Fact">[<i><a href="/wiki/Wikipedia:Citation_needed">citation-needed</a></i>]</sup>
<span class="mwe-math-element mwe-math-element-inline"><span class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math xmlns="http://www.w3.org/1998/Math/MathML" alttext="{{\\displaystyle V=\\pi r^{{2}}h}}"><semantics><mrow><mstyle displaystyle="true"><mi>V</mi></mstyle></mrow><annotation encoding="application/x-tex">{{\\displaystyle V=\\pi r^{{2}}h}}</annotation></semantics></math></span><img src="https://wikimedia.org/api/rest_v1/media/math/render/svg/1" class="mwe-math-fallback-image-inline mw-invert skin-invert" alt="math-fallback"></span>.</p>
<div id="toc" class="toc" role="navigation"><div class="toctitle"><h2>old-contents</h2></div></div>
{heading("History")}
<div role="note" class="hatnote navigation-not-searchable">Main article: <a href="/wiki/H">hatnote-of-a-section</a></div>
<p>Teapots came from China.<span class="mw-cite-backlink">backlink</span></p>
{heading("Literature", 3)}
<p>Poems praise it.</p>
<ul class="gallery mw-gallery-traditional"><li class="gallerybox">gallery</li></ul>
{heading("See also")}
<div role="navigation" aria-label="Portals" class="noprint portal-bar">portal</div><ul><li><a href="/wiki/Kettle">see-also</a></li></ul>
{heading("Notes and citations")}
{heading("Notes", 3)}<div class="reflist reflist-lower-alpha"><ol class="references"><li id="cite_note-a">explanatory-note</li></ol></div>
{heading("Citations", 3)}<p>citation-in-a-subsection</p><div class="mw-references-wrap"><ol class="references"><li id="cite_note-1"><span class="mw-cite-backlink"><b><a href="#cite_ref-1">^</a></b></span> <span class="reference-text"><cite class="citation book cs1">reference-list</cite></span></li></ol></div>
{heading("Sources")}<div class="refbegin"><ul><li>source-book</li></ul></div><p>source-text</p>
{heading("Further reading")}<ul><li>further-reading</li></ul>
{heading("External links")}<div class="side-box plainlinks sistersitebox">sister-project</div><ul><li>external-link</li></ul>
<div class="navbox-styles"></div><div role="navigation" class="navbox" aria-labelledby="Teapots"><table class="nowraplinks"><tbody><tr><th>navbox</th></tr></tbody></table></div>
<div class="navbox authority-control">authority-control</div>
</div><div class="printfooter" data-nosnippet="">Retrieved from "print-footer"</div></div>
<div id="catlinks" class="catlinks"><div id="mw-normal-catlinks">Categories: category-links</div></div>
</div></main></div><div class="mw-footer-container"><footer id="footer" class="mw-footer">last-edited</footer></div></div></div></body></html>"""


def test_wikipedia_keeps_the_article() -> None:
    document = normalize(ARTICLE, url=URL).document
    assert document.title == "Teapot"
    assert [(block.tag, block.text) for block in document.blocks] == [
        ("h1", "Teapot"),
        ("p", "Material"),
        ("p", "Stoneware"),
        ("p", r"A teapot is a vessel for tea. It holds V=\pi r^{2}h."),
        ("h2", "History"),
        ("p", "Teapots came from China."),
        ("h3", "Literature"),
        ("p", "Poems praise it."),
    ]
    spans = document.blocks[3].spans
    assert [span.target for span in spans if span.kind == "link"] == ["https://en.wikipedia.org/wiki/Tea"]
    assert [span.kind for span in spans if span.kind in {"footnote", "image", "math"}] == ["math"]


@pytest.mark.parametrize(
    "gone",
    [
        "hatnote", "hatnote-of-a-section", "maintenance-box", "sidebar", "navbox", "authority-control", "portal",
        "sister-project", "reference-list", "explanatory-note", "citation-in-a-subsection", "backlink",
        "citation-needed", "edit-link", "figure-caption", "thumb-caption", "gallery", "see-also",
        "further-reading", "external-link", "source-book", "source-text", "print-footer", "site-subtitle", "jump-link",
        "jump-link-outside", "math-fallback", "redirected-from", "short-description", "table-of-contents", "toc-button",
        "old-contents", "60 languages", "page-toolbar", "tools-column", "main-menu", "site-notice", "indicator",
        "category-links", "last-edited",
    ],
)  # fmt: skip
def test_everything_around_the_article_is_removed(gone: str) -> None:
    document = normalize(ARTICLE, url=URL).document
    assert gone in ARTICLE
    assert gone not in document.text
    assert not [span for block in document.blocks for span in block.spans if gone in (span.target, span.label)]


@pytest.mark.parametrize(
    ("why", "piece"),
    [
        ("a hatnote", "<div class=hatnote>gone</div>"),
        ("a note by its role", "<div role=note>gone</div>"),
        ("a hatnote in German", "<div class='hauptartikel navigation-not-searchable'>gone</div>"),
        ("a navbox", "<div class=navbox><table><tr><th>gone</table></div>"),
        ("navigation by its role", "<div class=NavFrame role=navigation>gone</div>"),
        ("a portal in French", "<ul class='bandeau-portail'><li>gone</ul>"),
        ("a sidebar", "<table class=sidebar><tr><td>gone</table>"),
        ("a list of references", "<div class=reflist><ol><li>gone</ol></div>"),
        ("the same, without a template", "<ol class=references><li>gone</ol>"),
        ("a mark of a reference", "<p>Text.<sup class=reference><a href='#cite_note-1'>gone</a></sup></p>"),
        ("a mark of a doubt", "<p>Text.<sup class='noprint Inline-Template'>gone</sup></p>"),
        ("an edit link", "<h2>Text.<span class=mw-editsection>gone</span></h2>"),
        ("a thumb", "<figure typeof='mw:File/Thumb'><figcaption>gone</figcaption></figure>"),
        ("a thumb of old", "<div class=thumb><div class=thumbcaption>gone</div></div>"),
        ("the foot in print", "<div class=printfooter>gone</div>"),
        ("the site's subtitle", "<div id=siteSub>gone</div>"),
        ("a jump link", "<a class=mw-jump-link href='#x'>gone</a>"),
        ("a formula's picture", "<img class=mwe-math-fallback-image-inline alt=gone src=g.svg>"),
        ("a display formula's picture", "<img class=mwe-math-fallback-image-display alt=gone src=g.svg>"),
        ("a maintenance box", "<table class=ambox><tr><td>gone</table>"),
        ("a sister project", "<div class=sistersitebox>gone</div>"),
        ("categories", "<div class=catlinks>gone</div>"),
        ("on the mobile site", "<div class=tagline>gone</div>"),
        *((f"a section: {title}", f"<h2>{title}</h2><p>gone</p>") for title in ("See also", "Further reading", "External links", "Sources")),
    ],
)  # fmt: skip
def test_each_selector_removes_its_element(why: str, piece: str) -> None:
    page = f"<main id=content><h1>Page</h1><div class=mw-parser-output><p>Text.</p>{piece}</div></main>"
    blocks = normalize(page, url=URL).document.blocks
    assert "gone" not in str(blocks), why
    assert blocks[1].text == "Text."


def test_removed_texts_have_the_selector_as_reason() -> None:
    why = {text.split()[-1]: reason for text, reason in explain(ARTICLE, URL) if text}
    for text in ("navbox", "figure-caption", "see-also", "further-reading", "external-link"):
        assert why[text].kind == "quirk", text


@pytest.mark.parametrize(
    ("host", "gone", "left"),
    [
        ("en", ["Notes and citations", "Explanatory notes", "References and sources", "Sources and further reading",
                "General references", "Citations", "Works cited", "Footnotes", "See also", "External links", "References:"],
         ["Literature", "Notable works", "Sources of the river"]),
        ("simple", ["Related pages", "Other websites"], ["History"]),
        ("en.m", ["Further reading"], ["History"]),
        ("de", ["Siehe auch", "Literatur", "Weblinks", "Einzelnachweise", "Quellen"], ["Geschichte", "Notes"]),
        ("fr", ["Voir aussi", "Bibliographie", "Liens externes", "Notes et références", "Sources"], ["Histoire"]),
        ("es", ["Véase también", "Bibliografía", "Enlaces externos", "Referencias", "Fuentes"], ["Literatura"]),
        ("it", ["Voci correlate", "Bibliografia", "Collegamenti esterni", "Note", "Altri progetti"], ["Storia"]),
        ("pt", ["Ver também", "Leitura adicional", "Ligações externas", "Referências", "Fontes"], ["Literatura"]),
        ("nl", ["Zie ook", "Literatuur", "Externe links", "Bronnen, noten en/of referenties"], ["Geschiedenis"]),
        ("ja", ["関連項目", "参考文献", "外部リンク", "脚注", "出典"], ["歴史"]),
        ("zh", ["参见", "延伸閱讀", "外部链接", "參考文獻", "来源"], ["历史"]),
        ("ru", ["См. также", "Литература", "Ссылки", "Примечания", "Источники"], ["История"]),
        ("ru.m", ["См. также"], ["История"]),
        ("pl", ["Zobacz też", "Bibliografia", "Linki zewnętrzne", "Przypisy", "Źródła"], ["Historia"]),
    ],
)  # fmt: skip
def test_each_edition_has_its_headings(host: str, gone: list[str], left: list[str]) -> None:
    sections = "".join(f"{heading(title)}<p>below {title}</p>" for title in [*gone, *left])
    page = f"<main id=content><h1>Page</h1><div class=mw-parser-output><p>Text.</p>{sections}</div></main>"
    found = [block.text for block in normalize(page, url=f"https://{host}.wikipedia.org/wiki/Page").document.blocks]
    assert found == ["Page", "Text.", *(text for title in left for text in (title, f"below {title}"))]


@pytest.mark.parametrize(
    ("edition", "title"),
    [("de", "Teekanne – Wikipedia"), ("fr", "Teekanne — Wikipédia"), ("ru", "Teekanne — Википедия"),
     ("es", "Teekanne - Wikipedia, la enciclopedia libre"), ("zh", "Teekanne - 维基百科，自由的百科全书")],
)  # fmt: skip
def test_the_name_of_the_site_is_removed_from_titles(edition: str, title: str) -> None:
    page = f"<title>{title}</title><main id=content><p>Text.</main>"
    assert normalize(page, url=f"https://{edition}.wikipedia.org/wiki/X").document.title == "Teekanne"


def test_only_its_own_hosts_have_a_quirk() -> None:
    assert quirk_of("sv.wikipedia.org") is quirk_of("en.wikipedia.org") is not None
    assert quirk_of("de.m.wikipedia.org") is quirk_of("de.wikipedia.org") is not quirk_of("en.wikipedia.org")
    assert quirk_of("wikipedia.org.example") is None
