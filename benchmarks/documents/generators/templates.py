# ruff: noqa: E501 - markup as it comes
"""Pages as three frequent generators write them, made of Markdown: the structure and the classes of their markup.

No package has manuals of these generators. The texts of the menus are the titles of the other pages.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from benchmarks.documents.generators.markdown import PARSER, read_markdown, without_front_matter

_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)
_LISTING = re.compile(r'<pre><code(?: class="language-([\w-]+)[^"]*")?>(.*?)</code></pre>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Filled:
    """The parts of a page that a template shows."""

    title: str
    body: str
    others: Sequence[str]
    """Titles of the other pages of the manual."""

    @property
    def headings(self) -> list[str]:
        return [_TAG.sub("", text) for level, text in _HEADING.findall(self.body) if level in "23"]


Template = Callable[[Filled], str]


def fill(template: Template, markdown: str, others: Sequence[str]) -> bytes:
    """Return a page of a Markdown text."""
    title = read_markdown(markdown).title
    body: str = PARSER.render(without_front_matter(markdown))
    page = template(Filled(title, body, others))
    return f'<!DOCTYPE html>\n<html lang="en">{page}</html>\n'.encode()


def docusaurus(page: Filled) -> str:
    body = _HEADING.sub(
        r'<h\1 class="anchor anchorWithStickyNavbar_LWe7">\2<a href="#x" class="hash-link" aria-label="Direct link to '
        'the heading" title="Direct link to the heading">\u200b</a></h\\1>',
        page.body,
    )
    body = _LISTING.sub(
        lambda found: (
            f'<div class="language-{found[1]} codeBlockContainer_Ckt0 theme-code-block"><div class="codeBlockContent_biex">'
            f'<pre tabindex="0" class="prism-code codeBlock_bY9V thin-scrollbar"><code class="codeBlockLines_e6Vv">'
            f"{_token_lines(found[2])}</code></pre><div class='buttonGroup__atx'><button type='button' aria-label='Copy code "
            "to clipboard'>Copy</button></div></div></div>"
        ),
        body,
    )
    menu = _items(
        page.others,
        '<li class="theme-doc-sidebar-item-link menu__list-item"><a class="menu__link" href="/{n}">{text}</a></li>',
    )
    toc = _items(page.headings, '<li><a href="#{n}" class="table-of-contents__link toc-highlight">{text}</a></li>')
    return f"""<head><meta charset="utf-8"><meta name="generator" content="Docusaurus v3.1.0"><title>{escape(page.title)} | Manual</title></head>
<body class="navigation-with-keyboard"><div id="__docusaurus"><div role="region" aria-label="Skip to main content"><a class="skipToContent_fXgn"
href="#__docusaurus_skipToContent_fallback">Skip to main content</a></div><nav aria-label="Main" class="navbar navbar--fixed-top"><div
class="navbar__inner"><a class="navbar__brand" href="/"><b class="navbar__title">Manual</b></a><a class="navbar__item navbar__link"
href="/docs">Docs</a><a class="navbar__item navbar__link" href="/blog">Blog</a></div></nav><div class="main-wrapper mainWrapper_z2l0"><div
class="docsWrapper_hBAB"><aside class="theme-doc-sidebar-container"><nav aria-label="Docs sidebar" class="menu thin-scrollbar"><ul
class="theme-doc-sidebar-menu menu__list">{menu}</ul></nav></aside><main class="docMainContainer_TBSr"><div class="container"><div
class="row"><div class="col docItemCol_VOVn"><div class="docItemContainer_Djhp"><article><nav class="theme-doc-breadcrumbs"
aria-label="Breadcrumbs"><ul class="breadcrumbs"><li class="breadcrumbs__item"><span class="breadcrumbs__link">Reference</span></li></ul></nav><div
class="tocCollapsible_ETCw theme-doc-toc-mobile"><button type="button">On this page</button></div><div class="theme-doc-markdown
markdown">{body}</div><footer class="theme-doc-footer"><a class="theme-edit-this-page" href="/edit">Edit this page</a><span
class="theme-last-updated">Last updated on <b><time datetime="2024-03-05">Mar 5, 2024</time></b></span></footer></article><nav
class="pagination-nav" aria-label="Docs pages"><a class="pagination-nav__link" href="/1"><div class="pagination-nav__sublabel">Next</div><div
class="pagination-nav__label">{escape(page.others[0])}</div></a></nav></div></div><div class="col col--3"><div class="tableOfContents_bqdL
theme-doc-toc-desktop"><ul class="table-of-contents">{toc}</ul></div></div></div></div></main></div></div><footer class="theme-layout-footer
footer"><div class="footer__title">Community</div><ul class="footer__items"><li class="footer__item"><a href="/chat">Discord</a></li></ul><div
class="footer__copyright">Copyright © 2024 The authors. Built with Docusaurus.</div></footer></div></body>"""


def vitepress(page: Filled) -> str:
    body = _HEADING.sub(
        r'<h\1 tabindex="-1">\2 <a class="header-anchor" href="#x" aria-label="Permalink to the heading">'
        "\u200b</a></h\\1>",
        page.body,
    )
    body = _LISTING.sub(
        lambda found: (
            f'<div class="language-{found[1]} vp-adaptive-theme"><button title="Copy Code" class="copy"></button><span '
            f'class="lang">{found[1] or "text"}</span><pre class="shiki"><code>{_token_lines(found[2])}</code></pre></div>'
        ),
        body,
    )
    menu = _items(
        page.others,
        '<div class="VPSidebarItem level-1 is-link"><div class="item"><a class="VPLink link" href="/{n}"><p class="text">'
        "{text}</p></a></div></div>",
    )
    toc = _items(page.headings, '<li><a class="outline-link" href="#{n}">{text}</a></li>')
    return f"""<head><meta charset="utf-8"><meta name="generator" content="VitePress v1.0.0"><title>{escape(page.title)} | Manual</title></head>
<body><div id="app"><div class="Layout"><a href="#VPContent" class="VPSkipLink visually-hidden">Skip to content</a><header class="VPNav"><div
class="VPNavBar"><a class="title" href="/">Manual</a><span>Search</span><nav class="VPNavBarMenu"><a class="VPLink VPNavBarMenuLink"
href="/guide">Guide</a><a class="VPLink VPNavBarMenuLink" href="/api">API</a></nav></div></header><div class="VPLocalNav"><button>Menu</button>
<button>Return to top</button></div><aside class="VPSidebar"><nav class="nav"><span class="visually-hidden">Sidebar Navigation</span><div
class="group"><section class="VPSidebarItem level-0"><div class="item"><h2 class="text">Introduction</h2></div><div
class="items">{menu}</div></section></div></nav></aside><div class="VPContent has-sidebar" id="VPContent"><div class="VPDoc has-sidebar
has-aside"><div class="container"><div class="aside"><div class="VPDocAsideOutline"><div class="outline-title">On this page</div><nav><ul
class="VPDocOutlineItem root">{toc}</ul></nav></div></div><div class="content"><div class="content-container"><main class="main"><div
class="vp-doc"><div>{body}</div></div></main><footer class="VPDocFooter"><div class="edit-info"><a class="VPLink edit-link-button"
href="/edit">Edit this page on GitHub</a><p class="VPLastUpdated">Last updated: <time>3/5/24, 10:00 AM</time></p></div><nav
class="prev-next"><a class="VPLink pager-link next" href="/1"><span class="desc">Next page</span><span
class="title">{escape(page.others[0])}</span></a></nav></footer></div></div></div></div></div></div></div></body>"""


def mediawiki(page: Filled) -> str:
    body = re.sub(r"<h1>.*?</h1>", "", page.body, count=1, flags=re.DOTALL).replace(
        "<table>", '<table class="wikitable">'
    )
    body = _HEADING.sub(
        r'<h\1><span class="mw-headline">\2</span><span class="mw-editsection"><span>[</span><a href="/edit">edit</a><span>]'
        r"</span></span></h\1>",
        body,
    )
    toc = _items(
        page.headings,
        '<li class="toclevel-1"><a href="#{n}"><span class="tocnumber">{n}</span> <span class="toctext">{text}</span></a></li>',
    )
    beginning, _, rest = body.partition("<h2>")
    body = f'{beginning}<div id="toc" class="toc" role="navigation"><div class="toctitle"><h2>Contents</h2></div><ul>{toc}</ul></div><h2>{rest}'
    links = _items(page.others[:12], '<li id="n-{n}"><a href="/wiki/{n}">{text}</a></li>')
    tools = _items(
        (
            "What links here",
            "Related changes",
            "Special pages",
            "Printable version",
            "Permanent link",
            "Page information",
        ),
        '<li id="t-{n}"><a href="/wiki/Special:{n}">{text}</a></li>',
    )
    return f"""<head><meta charset="utf-8"><meta name="generator" content="MediaWiki 1.39.0"><title>{escape(page.title)} - Manual Wiki</title></head>
<body class="mediawiki ltr ns-0 ns-subject skin-vector action-view"><div id="mw-page-base"></div><div id="content" class="mw-body"
role="main"><h1 id="firstHeading" class="firstHeading mw-first-heading">{escape(page.title)}</h1><div id="bodyContent" class="vector-body"><div
id="siteSub">From Manual Wiki</div><a class="mw-jump-link" href="#mw-head">Jump to navigation</a><a class="mw-jump-link"
href="#searchInput">Jump to search</a><div id="mw-content-text" class="mw-body-content mw-content-ltr" lang="en" dir="ltr"><div
class="mw-parser-output">{body}</div></div><div class="printfooter">Retrieved from "<a href="/wiki">https://wiki.example/index.php?oldid=12</a>"</div><div
id="catlinks" class="catlinks"><a href="/wiki/Special:Categories">Categories</a>: <ul><li><a href="/wiki/Category:1">Reference</a></li></ul></div></div></div><div
id="mw-navigation"><h2>Navigation menu</h2><div id="mw-head"><nav id="p-personal"><h3>Personal tools</h3><ul><li><a href="/login">Log
in</a></li></ul></nav><nav id="p-views"><h3>Views</h3><ul><li><a href="/wiki">Read</a></li><li><a href="/edit">View source</a></li><li><a
href="/history">View history</a></li></ul></nav></div><div id="mw-panel"><nav id="p-navigation"><h3>Navigation</h3><ul>{links}</ul></nav><nav
id="p-tb"><h3>Tools</h3><ul>{tools}</ul></nav></div></div><footer id="footer" class="mw-footer" role="contentinfo"><ul id="footer-info"><li
id="footer-info-lastmod">This page was last edited on 5 March 2024, at 10:00.</li></ul><ul id="footer-places"><li><a href="/privacy">Privacy
policy</a></li><li><a href="/disclaimers">Disclaimers</a></li></ul></footer></body>"""


def _items(texts: Sequence[str], form: str) -> str:
    return "".join(form.format(n=number, text=escape(text)) for number, text in enumerate(texts, 1))


def _token_lines(code: str) -> str:
    return "\n".join(
        f'<span class="token-line line"><span class="token plain">{line}</span></span>' for line in code.splitlines()
    )
