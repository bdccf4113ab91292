"""Reads Markdown: manuals of Node, MkDocs, and of the templates."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchmarks.documents.generators.source import Source

PARSER = MarkdownIt("commonmark").enable("table")
_NOTHING = Token("", "", 0)
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def read_markdown(text: str) -> Source:
    """Return the items of a Markdown file. The first heading is its title."""
    source = Source()
    tokens = PARSER.parse(without_front_matter(text))
    for earlier, before, token in zip([_NOTHING, _NOTHING, *tokens], [_NOTHING, *tokens], tokens, strict=False):
        if token.type in {"fence", "code_block"}:
            source.code.append(token.content)
        elif token.type == "inline":
            _list_for(source, earlier.type, before.type).append(inline_text(token))
    source.title = source.names.pop(0) if source.names else ""
    return source


def without_front_matter(text: str) -> str:
    return _FRONT_MATTER.sub("", text)


def _list_for(source: Source, earlier: str, before: str) -> list[str]:
    """Return the list of a line, by the two tokens before it."""
    if before in {"heading_open", "th_open"} or (before == "td_open" and earlier == "tr_open"):
        return source.names
    if before == "td_open" or (before == "paragraph_open" and earlier == "list_item_open"):
        return source.values
    return source.texts


def inline_text(token: Token) -> str:
    """Return the text of a line as a reader sees it."""
    return "".join(_inline_parts(token))


def _inline_parts(token: Token) -> Iterator[str]:
    for child in token.children or ():
        if child.type in {"text", "code_inline"}:
            yield child.content
        elif child.type in {"softbreak", "hardbreak"}:
            yield " "
