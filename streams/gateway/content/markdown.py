"""The text of a document as Markdown, as far as a language model may have it. Pure.

A document is the JSON of `DocumentContent`: `riffle mcp` gets it by HTTP.
"""

from collections.abc import Iterable
from typing import Any

from streams.pages.document.consent import Consent


def text_for_models(document: Any, consent: Consent) -> str:
    """Return what the publisher of a page lets a model get of its text."""
    return consent.quote([to_markdown(document)])[0] if consent.for_models else ""


def to_markdown(document: Any) -> str:
    """Return the text of a document as simple Markdown: headings, items, code and paragraphs."""
    containers = document.get("containers", ())
    return "\n\n".join(_blocks(document.get("blocks", ()), containers))


def _blocks(blocks: Iterable[Any], containers: Any) -> Iterable[str]:
    for block in blocks:
        tag, text = block["tag"], block["text"]
        parent = block.get("parent", -1)
        if tag.startswith("h") and tag[1:].isdigit():
            yield f"{'#' * int(tag[1:])} {text}"
        elif tag == "pre":
            yield f"```{block.get('language', '')}\n{text}\n```"
        elif 0 <= parent < len(containers) and containers[parent]["tag"] == "li":
            yield f"- {text}"
        else:
            yield text
