"""The texts of a page that are not in its document, each with the reason.

Scripts, styles, comments and the page's head are not listed, since they are no text of the page.
"""

import re
from dataclasses import replace

from streams.pages.content.boilerplate_elements import boilerplate_elements
from streams.pages.content.main_content import IN_BOILERPLATE, NEIGHBOUR_LINKS, Labels
from streams.pages.content.segment_stats import segment_stats
from streams.pages.parse.elements import KINDS_BY_NAME, SKIP
from streams.pages.parse.page import Parsed
from streams.pages.parse.segments import Removal, RemovedTexts, Walk
from streams.pages.parse.walk import walk

_NEVER_TEXT = frozenset({"base", "head", "link", "meta", "script", "style", "title"})
_UNREAD = ", ".join(sorted(name for name, kind in KINDS_BY_NAME.items() if kind == SKIP and name not in _NEVER_TEXT))
MIN_CODE_CHARS = 12
"""Minimum length (characters) of a script or style that is cut out of removed texts. A shorter one may be words."""
_CODE = re.compile(r"<(script|style)(?=[\s>])[^>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)
_PRUNED_TAGS = frozenset({"nav", "footer"})
_PRUNED_ROLE = Removal("role", "navigation or contentinfo")


def list_removed_texts(parsed: Parsed, labels: Labels) -> RemovedTexts:
    """List the removed texts of a page that was parsed and labelled with `explaining`. Destroys the tree."""
    if parsed.head.clean:
        return []
    unread = _unread_texts(parsed)
    return [
        *_pruned_texts(parsed),
        *_outside_content(parsed),
        *_dropped_segments(parsed, labels),
        *unread,
    ]


def _pruned_texts(parsed: Parsed) -> RemovedTexts:
    """Return the texts that left the tree before the walk.

    Elements of a quirk's selectors may be inside each other: the first selector gives the reason.
    """
    removed = _remove_code(parsed)
    if parsed.quirk is not None:
        named: dict[str, Removal] = {}
        for text, why in removed:
            named.setdefault(text, why)
        return list(named.items())
    return [(text, _PRUNED_ROLE if why.kind == "element" and _is_by_role(why.detail) else why) for text, why in removed]


def _is_by_role(detail: str) -> bool:
    """Return whether an element was removed for its role: then the reason is its name, without a class."""
    return detail not in _PRUNED_TAGS and "." not in detail


def _remove_code(parsed: Parsed) -> RemovedTexts:
    """Return the texts that left the tree, without the scripts and styles that the parser counts as text."""
    if not parsed.removed:
        return []
    scripts = (" ".join(found[2].split()) for found in _CODE.finditer(parsed.html))
    codes = {code for code in scripts if len(code) >= MIN_CODE_CHARS}
    removed = []
    for text, why in parsed.removed:
        for code in codes:
            if code in text:
                text = text.replace(code, " ")
        if text := " ".join(text.split()):
            removed.append((text, why))
    return removed


def _dropped_segments(parsed: Parsed, labels: Labels) -> RemovedTexts:
    page = parsed.walk
    site = parsed.quirk.hosts[0] if parsed.quirk is not None else ""
    is_named = IN_BOILERPLATE in labels.reasons.values()
    marked = boilerplate_elements(page, segment_stats(page, "")) if is_named else []
    found = []
    for index, why in sorted(labels.reasons.items()):
        segment = page.segments[index]
        if why == IN_BOILERPLATE:
            why = _boilerplate_reason(page, marked, segment.element)
        found.append((segment.text, replace(why, site=site) if why.kind == "quirk" else why))
    return found


def _boilerplate_reason(page: Walk, marked: list[bool], element: int) -> Removal:
    """Return the reason why the element is boilerplate: the reason of the outermost boilerplate element around it."""
    while page.parents[element] >= 0 and marked[page.parents[element]]:
        element = page.parents[element]
    if not marked[element]:
        return NEIGHBOUR_LINKS
    attributes = page.attributes[element]
    if _is_boilerplate_by_itself(page.tags[element], ""):
        return Removal("element", page.tags[element])
    role = attributes.get("role") or ""
    if role and _is_boilerplate_by_itself("div", role):
        return Removal("role", role)
    return Removal("name", " ".join(filter(None, (attributes.get("class"), attributes.get("id")))))


def _is_boilerplate_by_itself(tag: str, role: str) -> bool:
    """Return whether an element with only this tag and role is boilerplate."""
    page = Walk(tags=["body", tag], parents=[-1, 0], attributes=[{}, {"role": role}])
    return boilerplate_elements(page, segment_stats(page, ""))[1]


def _outside_content(parsed: Parsed) -> RemovedTexts:
    """Return the texts outside of a quirk's content element. The walk does not visit them."""
    selector = parsed.quirk.content if parsed.quirk is not None else ""
    content = parsed.tree.css_first(selector) if selector else None
    if parsed.quirk is None or content is None or content.tag == "body":
        return []
    content.decompose()
    body = parsed.tree.body
    segments = walk(body).segments if body is not None else []
    reason = Removal("quirk", f"outside of {selector}", site=parsed.quirk.hosts[0])
    return [(segment.text, reason) for segment in segments]


def _unread_texts(parsed: Parsed) -> RemovedTexts:
    """Return the texts in elements that are never read: choices, drawings, fallbacks."""
    found = []
    inside: set[int] = set()
    for node in parsed.tree.css(_UNREAD):
        above = node.parent
        if above is not None and above.mem_id in inside:
            inside.add(node.mem_id)
            continue
        inside.add(node.mem_id)
        if text := " ".join(node.text(separator=" ").split()):
            found.append((text, Removal("unread", node.tag or "")))
    return found
