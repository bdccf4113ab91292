"""Each text of a page that is not in its document, and why: every step that takes text out is asked.

A reason is a kind, a colon and what it was: `element: nav`, `role: search`, `name: sidebar`, `model: content with
probability 0.03`, `quirk of en.wikipedia.org: .navbox`, `unread: select`. Scripts, styles, comments and the page's head
are not listed: nobody takes them for text of the page.
"""

import re

from streams.pages.content.boilerplate_elements import boilerplate_elements
from streams.pages.content.main_content import IN_BOILERPLATE, Labels
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.elements import KINDS_BY_NAME, SKIP
from streams.pages.parse.page import Parsed
from streams.pages.parse.segments import Walk
from streams.pages.parse.walk import walk

Reasons = list[tuple[str, str]]
_NEVER_TEXT = frozenset({"base", "head", "link", "meta", "script", "style", "title"})
_UNREAD = ", ".join(sorted(name for name, kind in KINDS_BY_NAME.items() if kind == SKIP and name not in _NEVER_TEXT))
MIN_CODE_CHARS = 12
_CODE = re.compile(r"<(script|style)(?=[\s>])[^>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)
_PRUNED_TAGS = frozenset({"element: nav", "element: footer"})


def reasons(parsed: Parsed, labels: Labels) -> Reasons:
    """Of a page that was parsed and labelled with `explaining`. Takes the tree apart."""
    if parsed.head.clean:
        return []
    unread = _unread(parsed)
    return [
        *_taken_out(parsed),
        *_outside(parsed),
        *_judged(parsed, labels),
        *unread,
    ]


def _taken_out(parsed: Parsed) -> Reasons:
    """What was taken out of the tree. Selectors of a quirk meet within each other: a text is named by the first."""
    removed = _without_code(parsed)
    if parsed.quirk is not None:
        named: dict[str, str] = {}
        for text, why in removed:
            named.setdefault(text, why)
        return list(named.items())
    # What was taken out for its role bears the name of its element, which says nothing.
    return [
        (text, why if why in _PRUNED_TAGS or not why.startswith("element: ") else "role: navigation or contentinfo")
        for text, why in removed
    ]


def _without_code(parsed: Parsed) -> Reasons:
    """What was taken out of the tree without the scripts and styles in it, which the parser's text of an element
    holds. Very short ones stay: they might be words of the page as well."""
    if not parsed.removed:
        return []
    written = (" ".join(found[2].split()) for found in _CODE.finditer(parsed.html))
    codes = {code for code in written if len(code) >= MIN_CODE_CHARS}
    removed = []
    for text, why in parsed.removed:
        for code in codes:
            if code in text:
                text = text.replace(code, " ")
        if text := " ".join(text.split()):
            removed.append((text, why))
    return removed


def _judged(parsed: Parsed, labels: Labels) -> Reasons:
    page = parsed.walk
    site = f"quirk of {parsed.quirk.hosts[0]}" if parsed.quirk is not None else "quirk"
    is_named = IN_BOILERPLATE in labels.reasons.values()
    marked = boilerplate_elements(page, segment_stats(page, "")) if is_named else []
    found = []
    for index, why in sorted(labels.reasons.items()):
        segment = page.segments[index]
        if why == IN_BOILERPLATE:
            why = _boilerplate(page, marked, segment.element)
        found.append((segment.text, why.replace("quirk:", f"{site}:", 1)))
    return found


def _boilerplate(page: Walk, marked: list[bool], element: int) -> str:
    """The reason why the element is boilerplate: that of the outermost boilerplate element around it."""
    tag = page.tags[element]
    while page.parents[element] >= 0 and marked[page.parents[element]]:
        element = page.parents[element]
    if not marked[element]:
        return f"element: {tag}"
    attributes = page.attributes[element]
    if _alone(page.tags[element], ""):
        return f"element: {page.tags[element]}"
    role = attributes.get("role") or ""
    if role and _alone("div", role):
        return f"role: {role}"
    return f"name: {' '.join(filter(None, (attributes.get('class'), attributes.get('id'))))}"


def _alone(tag: str, role: str) -> bool:
    """Whether an element with this tag and role alone would be boilerplate."""
    page = Walk(tags=["body", tag], parents=[-1, 0], attributes=[{}, {"role": role}])
    return boilerplate_elements(page, segment_stats(page, ""))[1]


def _outside(parsed: Parsed) -> Reasons:
    """Text outside of the element that a quirk names: the walk never went there."""
    selector = parsed.quirk.content if parsed.quirk is not None else ""
    content = parsed.tree.css_first(selector) if selector else None
    if parsed.quirk is None or content is None or content.tag == "body":
        return []
    content.decompose()
    body = parsed.tree.body
    around = walk(body).segments if body is not None else []
    return [(segment.text, f"quirk of {parsed.quirk.hosts[0]}: outside of {selector}") for segment in around]


def _unread(parsed: Parsed) -> Reasons:
    """Text in elements whose text is no part of a page's: choices, drawings, what is shown where something fails."""
    found = []
    inside: set[int] = set()
    for node in parsed.tree.css(_UNREAD):
        above = node.parent
        if above is not None and above.mem_id in inside:
            inside.add(node.mem_id)
            continue
        inside.add(node.mem_id)
        if text := " ".join(node.text(separator=" ").split()):
            found.append((text, f"unread: {node.tag}"))
    return found
