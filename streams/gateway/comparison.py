"""What of a page's text is not in the document that was made of it, and in what kind of element it stood.

Pure, and linear in the page's length whatever is in it: it looks at tags one by one and builds no tree, so it is not
the parser that the document came from. It tells where a text stood, not which weight of the content model decided.
"""

import html
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

MAX_REMOVED = 500
MAX_TEXT_CHARS = 300

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""str.lower() would change the length of some texts, and with it every position."""
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
"""Elements that don't end a run of text."""
_RAW = {
    "script": "a script",
    "style": "a style sheet",
    "template": "a template",
    "noscript": "for browsers without scripts",
    "svg": "a drawing",
    "textarea": "a form field",
    "title": "",
}
"""Elements whose content is no text of the page. The title is the document's title, so it is not missing."""
_CHROME = {
    "nav": "in a navigation",
    "footer": "in a footer",
    "header": "in a header",
    "aside": "in a sidebar",
    "form": "in a form",
    "button": "on a button",
    "select": "in a form",
    "dialog": "in a dialog",
    "menu": "in a menu",
    "head": "in the page's head",
}


@dataclass(frozen=True, slots=True)
class Removed:
    """A run of text that was not kept."""

    reason: str
    text: str


def removed_texts(original: str, kept: str) -> list[Removed]:
    """Runs of text of the HTML that are not in `kept`, the document's text, in order; the first 500."""
    known = _collapsed(kept)
    found: list[Removed] = []
    for reason, text in _runs(original):
        if text and reason is not None and text not in known:
            found.append(Removed(reason or "judged not to be content", _shortened(text)))
            if len(found) == MAX_REMOVED:
                break
    return found


def _runs(source: str) -> Iterator[tuple[str | None, str]]:
    """Each run of text with why it might be missing: empty when its place doesn't tell, None when it isn't missing."""
    inside: Counter[str] = Counter()
    parts: list[str] = []
    for tag, closing, content in _tokens(source):
        if not tag:
            parts.append(content)
        elif tag in _RAW:
            yield _RAW[tag] or None, _collapsed(content)
        elif tag not in _INLINE:
            yield _place(inside), _collapsed(html.unescape("".join(parts)))
            parts = []
            if tag in _CHROME:
                inside[tag] = max(0, inside[tag] + (-1 if closing else 1))
    yield _place(inside), _collapsed(html.unescape("".join(parts)))


def _tokens(source: str) -> Iterator[tuple[str, bool, str]]:
    """Tag (lower case; empty for text), whether it closes, and the text. Comments are left out; no find goes back."""
    lowered, position = source.translate(_ASCII_LOWER), 0
    while position < len(source):
        start = source.find("<", position)
        if start < 0:
            yield "", False, source[position:]
            return
        yield "", False, source[position:start]
        comment = source.startswith("<!--", start)
        end = source.find("-->" if comment else ">", start)
        if end < 0:
            return
        position = end + (3 if comment else 1)
        tag = "" if comment else lowered[start + 1 : min(end, start + 20)].lstrip("/").split(" ")[0].strip("/\n\t\r")
        closing = source.startswith("</", start)
        if tag in _RAW and not closing and source[end - 1] != "/":
            raw_end = lowered.find(f"</{tag}", position)
            raw_end = len(source) if raw_end < 0 else raw_end
            yield tag, False, source[position:raw_end]
            position = raw_end
        elif tag and tag not in _RAW:
            yield tag, closing, ""


def _place(inside: Counter[str]) -> str:
    return next((reason for tag, reason in _CHROME.items() if inside[tag]), "")


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else text[: MAX_TEXT_CHARS - 1] + "…"
