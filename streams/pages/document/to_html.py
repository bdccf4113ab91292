"""Writes a document as HTML that becomes the same document again: `normalize(to_html(d), url=d.url).document == d`.

The page has a generator name. It tells the normalizer that the page has no boilerplate. Fields that are not part of the
text (facts, links of the boilerplate, scripts, probabilities of languages, spans of cells) are in a JSON script.
"""

from html import escape

import orjson

from streams.pages.document.model import CLEAN_GENERATOR, DATA_TYPE, Block, Document, Span

_PARTS = frozenset({"li", "dt", "dd", "caption", "thead", "tbody", "tfoot", "tr", "th", "td"})
_WRAPPED = {"em": "em", "strong": "strong", "code": "code"}


def to_html(document: Document) -> str:
    """Return the document as a whole page."""
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(document.language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="generator" content="{CLEAN_GENERATOR}">\n<title>{escape(document.title)}</title>\n'
        f"</head>\n<body>\n<main>\n{body_html(document)}\n</main>\n"
        f'<script type="{DATA_TYPE}">{_data(document)}</script>\n</body>\n</html>\n'
    )


def body_html(document: Document) -> str:
    """Return only the containers and blocks. All text is escaped, so any page may include them."""
    first = _first_blocks(document)
    children: dict[int, list[tuple[int, str]]] = {}
    for index, block in enumerate(document.blocks):
        children.setdefault(block.parent, []).append((index, _block_html(block, document.language)))
    for index in range(len(document.containers) - 1, -1, -1):
        container = document.containers[index]
        html = f"<{container.tag}>{_in_order(children.pop(index, []))}</{container.tag}>"
        # Cells may be empty, so the parts of a list or table are ordered by their own index.
        place = index if container.tag in _PARTS else first[index]
        children.setdefault(container.parent, []).append((place, html))
    return _in_order(children.get(-1, []), "\n")


def _in_order(entries: list[tuple[int, str]], between: str = "") -> str:
    return between.join(text for _, text in sorted(entries, key=lambda entry: entry[0]))


def _first_blocks(document: Document) -> list[int]:
    """Return the index of the first block in each container, at any depth."""
    first = [len(document.blocks)] * len(document.containers)
    for index, block in enumerate(document.blocks):
        if block.parent >= 0:
            first[block.parent] = min(first[block.parent], index)
    for index in range(len(first) - 1, -1, -1):
        parent = document.containers[index].parent
        if parent >= 0:
            first[parent] = min(first[parent], first[index])
    return first


def _block_html(block: Block, page_language: str) -> str:
    inner = _inline(block.text, block.spans)
    if block.tag == "pre":
        kind = f' class="language-{escape(block.language)}"' if block.language else ""
        return f"<pre><code{kind}>{inner}</code></pre>"
    language = f' lang="{escape(block.language)}"' if block.language and block.language != page_language else ""
    return f"<{block.tag}{language}>{inner.replace(chr(10), '<br>')}</{block.tag}>"


def _inline(text: str, spans: tuple[Span, ...]) -> str:
    """Return the text with its spans as elements. Spans nest, and outer spans come before inner spans."""
    out: list[str] = []
    open_spans: list[Span] = []
    at = 0

    def close(until: int) -> None:
        nonlocal at
        while open_spans and open_spans[-1].end <= until:
            span = open_spans.pop()
            out.append(escape(text[at : span.end], quote=False))
            at = max(at, span.end)
            out.append(_end_tag(span))

    for span in spans:
        close(span.start)
        out.append(escape(text[at : span.start], quote=False))
        at = span.start
        if span.kind in ("image", "footnote"):
            out.append(_start_tag(span))
            continue
        out.append(_start_tag(span))
        open_spans.append(span)
    close(len(text))
    out.append(escape(text[at:], quote=False))
    return "".join(out)


def _start_tag(span: Span) -> str:
    match span.kind:
        case "link":
            return f'<a href="{escape(span.target)}">'
        case "image":
            return f'<img src="{escape(span.target)}" alt="{escape(span.label)}">'
        case "footnote":
            return f'<small role="doc-footnote">{escape(span.target, quote=False)}</small>'
        case "math":
            return '<math><semantics><annotation encoding="application/x-tex">'
        case _:
            return f"<{_WRAPPED[span.kind]}>"


def _end_tag(span: Span) -> str:
    match span.kind:
        case "link":
            return "</a>"
        case "math":
            return "</annotation></semantics></math>"
        case _:
            return f"</{_WRAPPED[span.kind]}>"


def _data(document: Document) -> str:
    """Return the other fields as JSON that cannot end a script element."""
    data = {
        "title": document.title,
        "description": document.description,
        "language": document.language,
        "language_confidence": document.language_confidence,
        "script": document.script,
        "spoken": [
            [index, block.confidence, block.script]
            for index, block in enumerate(document.blocks)
            if block.confidence or block.script
        ],
        "spanned": [
            [index, container.spanned_by]
            for index, container in enumerate(document.containers)
            if container.spanned_by >= 0
        ],
        "links": [[link.url, link.text, link.nofollow, link.in_content] for link in document.links],
        "facts": document.facts,
    }
    return orjson.dumps(data).decode().replace("<", "\\u003c")
