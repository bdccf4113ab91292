"""Markdown -> HTML by markdown-it-py (CommonMark with tables), with the fields of a front matter. Pure.

HTML in the Markdown is parsed as the HTML of a web page is, so what it hides is left out.
"""

import re
from collections.abc import Mapping
from html import unescape

from markdown_it import MarkdownIt

from streams.pages.formats.converted import Converted, clean, iso_date, title_of_url
from streams.pages.parse.charset import decode

MAX_CHARS = 1_000_000
"""Maximum length of a file (characters). A second of parsing."""
MAX_NESTING = 20
"""Maximum depth of lists and quotations."""
_FRONT = re.compile(r"\A(?:---|\+\+\+)[ \t]*\n([^\x00]{0,8000}?)\n(?:---|\+\+\+|\.\.\.)[ \t]*(?:\n|\Z)")
_FIELD = re.compile(r"^([A-Za-z_]{1,30})\s*[:=]\s*([^\n]{1,500})$", re.MULTILINE)
_TITLE = re.compile(r"<h1>([^\x00]{1,500}?)</h1>")
_COMMENT = re.compile(r"<!--[^>]{0,5000}-->")
_TAG = re.compile(r"<[^<>]{0,300}>")


def convert_markdown(body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    """Convert a Markdown file."""
    text = clean(decode(body, headers.get("content-type", ""))[:MAX_CHARS].replace("\r\n", "\n"))
    front = _FRONT.match(text)
    fields = {name.lower(): value.strip().strip("\"'") for name, value in _FIELD.findall(front[1])} if front else {}
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    html = parser.render(_COMMENT.sub("", text[front.end() :] if front else text))
    heading = _TITLE.search(html)
    return Converted(
        html,
        title=fields.get("title") or (_plain(heading[1]) if heading else "") or title_of_url(url),
        author=fields.get("author", ""),
        published=iso_date(fields.get("date", "")),
        language=fields.get("lang", "") or fields.get("language", ""),
        description=fields.get("description", ""),
    )


def _plain(html: str) -> str:
    """Return the text of a heading."""
    return " ".join(unescape(_TAG.sub("", html)).split())
