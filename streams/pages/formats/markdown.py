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
MAX_FRONT_LINES = 200
"""Maximum lines of a front matter."""
MAX_VALUE_CHARS = 500
_OPENING, _CLOSING = ("---", "+++"), ("---", "+++", "...")
"""Lines around a front matter: YAML's and TOML's."""
_TAG = re.compile(r"<[^<>]{0,300}>")


def convert_markdown(body: bytes, headers: Mapping[str, str], url: str) -> Converted:
    """Convert a Markdown file."""
    text = clean(decode(body, headers.get("content-type", ""))[:MAX_CHARS].replace("\r\n", "\n"))
    fields, text = _split_front(text)
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    html = parser.render(_without_comments(text))
    return Converted(
        html,
        title=fields.get("title") or _first_heading(html) or title_of_url(url),
        author=fields.get("author", ""),
        published=iso_date(fields.get("date", "")),
        language=fields.get("lang", "") or fields.get("language", ""),
        description=fields.get("description", ""),
    )


def _split_front(text: str) -> tuple[dict[str, str], str]:
    """Return the fields of the front matter, and the text behind it."""
    lines = text.split("\n", MAX_FRONT_LINES + 1)[: MAX_FRONT_LINES + 1]
    if lines[0].rstrip() not in _OPENING:
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in _CLOSING), 0)
    if not end:
        return {}, text
    rest = text.split("\n", end + 1)[end + 1 :]
    return dict(filter(None, map(_field, lines[1:end]))), "".join(rest)


def _field(line: str) -> tuple[str, str] | None:
    """Return name and value of a line such as `title: The log`, or None."""
    separator = min((mark for mark in ":=" if mark in line), key=line.index, default="")
    name, _, value = line.partition(separator) if separator else ("", "", "")
    name, value = name.strip().lower(), value.strip()[:MAX_VALUE_CHARS].strip("\"'")
    return (name, value) if name.replace("_", "").isalpha() and name.isascii() and value else None


def _without_comments(text: str) -> str:
    """Return the text without comments of HTML. A comment without an end stays: the parser of pages leaves it out."""
    kept, start = [], 0
    while (begin := text.find("<!--", start)) >= 0 and (end := text.find("-->", begin)) >= 0:
        kept.append(text[start:begin])
        start = end + len("-->")
    return "".join([*kept, text[start:]])


def _first_heading(html: str) -> str:
    """Return the text of the first heading of the first level, else of a heading at the top, or nothing."""
    level = "h1" if "<h1>" in html or not html.startswith("<h2>") else "h2"
    _, _, rest = html.partition(f"<{level}>")
    heading, closing, _ = rest.partition(f"</{level}>")
    return " ".join(unescape(_TAG.sub("", heading[:MAX_VALUE_CHARS])).split()) if closing else ""
