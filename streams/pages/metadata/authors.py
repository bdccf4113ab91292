"""Finds the authors of a page: in structured data, then in meta elements, then in the visible byline."""

import re
from collections.abc import Iterable, Set

from selectolax.lexbor import LexborHTMLParser

from streams.language.months import SHORT_DAYS, SHORT_MONTHS
from streams.pages.metadata.items import Item, texts
from streams.pages.parse.head import labelled_lines
from streams.pages.parse.segments import Segment, Walk

_META = (
    "author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "sailthru.author", "byl",
    "article.author", "citation_author", "twitter:data1",
)  # fmt: skip
_BY = re.compile(
    r"^(?:(?:written|posted|published|reviewed|authored|edited|created|story|words|text|article|recipe|"
    r"insights from)\s*)?"
    r"(?:\b(?:by|von|par|por|di|door|av|af|author)\b\s*[:\-]?\s*)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:[|•·]|\s[-–—]\s|\s(?:on|in|at)\s(?!(?:der|den|dem|de|het|['’]t)\s)|\(|\b(?:19|20)\d\d\b|\d{1,2}[:/.]\d|"
    r",\s*(?:staff|editor|contributor|senior|chief|head|founder|director|[A-Z][a-z]+ \d)|"
    r"(?:last\s+)?(?:updated|published|posted|reviewed|modified)\b|"
    rf"\b(?:{'|'.join(SHORT_MONTHS)})[a-z]*\.?\s\d|\b(?:{'|'.join(SHORT_DAYS)})[a-z]*,\s).*$",
    re.IGNORECASE,
)
_NAME_CLASS = re.compile(r"author|byline|username|user-name|poster|creator|contributor|postedby|writer", re.IGNORECASE)
_PROFILE = re.compile(
    r"/(?:authors?|writers?|contributors?|columnists?|profiles?|users?|u|members?|people|staff|by)(?:/|"
    r"\.php\?)[^/?#]|[?&]author=|"
    r"/member\.php|/@[^/]+/?$",
    re.IGNORECASE,
)
_NOT_NAME = re.compile(
    r"https?:|www\.|@.*\.|[{}<>\\]|\w:\s|^(?:admin|administrator|guest|unknown|none|null|default|user|by|name|"
    r"author|authors|staff|"
    r"member|moderator|topic author|about|profile|login|log in|sign in|sign up|register|read more|home|"
    r"share|follow|view all|"
    r"see all|view profile|my account|account|company size|written|posted|edit|comments?|reply|page\.head.*)$",
    re.IGNORECASE,
)
MAX_NAME_CHARS = 80
MAX_NAMES = 6
MAX_LABELLED = 12
_ENDS_BY = re.compile(r"\b(?:by|von|par|por|di|door|av|af|author)\b\W{0,3}\Z", re.IGNORECASE)
MAX_WORDS_BEFORE = 4
"""Maximum words before a name in a byline that does not say "by", such as a date."""
MAX_WORDS_AFTER = 12
"""Maximum number of words behind a name that links to a profile, in a byline."""
NEAR_BEFORE = 6
NEAR_AFTER = 16


def find_author(
    tree: LexborHTMLParser,
    metas: list[tuple[str, str]],
    page: Walk,
    kept: list[int],
    items: list[Item],
    others: Iterable[str] = (),
    *,
    doubt_metas: bool = True,
) -> str:
    """Return the authors' names with commas between; empty if none is found.

    `others`: authors of reviews and comments. They count only in `items`, and in `metas` unless `doubt_metas`: an
    editor may also write a review.
    """
    for item in items:
        if names := _clean(texts(item.get("author"))):
            return names
    strangers = {name for text in others if (name := _clean([text]))}
    label = next((content for meta, content in metas if meta == "twitter:label1"), "")
    for name in _META:
        if name == "twitter:data1" and "by" not in label.lower():
            continue
        found = [content for meta, content in metas if meta == name]
        if found and (names := _clean(found, strangers if doubt_metas else frozenset())):
            return names
    credited = (link for link in page.links if link[2] and "author" in link[2].lower().split())
    linked = (text for href, text, _, _, _ in credited if not _is_licence(href))
    if names := _clean(linked, strangers):
        return names.split(", ")[0]
    return _find_byline(page, kept, strangers) or _find_by_class(tree, strangers)


def _is_licence(href: str) -> bool:
    return "creativecommons.org/" in href


def _find_byline(page: Walk, kept: list[int], strangers: Set[str]) -> str:
    """Find a name near the heading: a text that starts with "By", a class like author, or a link to a profile."""
    start = kept[0] if kept else 0
    heading = next((index for index, element in enumerate(page.elements()) if page.tags[element] == "h1"), start)
    low, high = max(min(start, heading) - NEAR_BEFORE, 0), max(start, heading) + NEAR_AFTER
    if high - low > 5 * NEAR_AFTER:
        low, high = max(start - NEAR_BEFORE, 0), start + NEAR_AFTER
    near = page.segments[low:high]
    for number, segment in enumerate(near):
        if len(segment.text) > 2 * MAX_NAME_CHARS:
            continue
        cut = _BY.sub("", segment.text)
        by = cut != segment.text and not _is_choice(page, segment, cut)
        if by and not cut and number + 1 < len(near):
            cut = near[number + 1].text
        if (by or _has_author_class(page, segment)) and (name := _clean([_linked_part(segment, cut) or cut])):
            return name if name not in strangers else ""  # after the first review come others
    for href, text, _, index, _ in page.links:
        is_profile = low <= index < high and _PROFILE.search(href) and not _is_licence(href)
        if is_profile and (_is_in_prose(page.segments[index], text) or _is_list_of_people(href, text)):
            continue
        if is_profile and (name := _clean([_BY.sub("", text)], strangers)):
            return name
    return ""


def _is_choice(page: Walk, segment: Segment, name: str) -> bool:
    """Return whether an item of a list is an order to choose, as "By date" beside "By name", and no byline."""
    return page.tags[segment.element] == "li" and len(name.split()) == 1 and not segment.spans


def _is_list_of_people(href: str, text: str) -> bool:
    """Return whether a link is called as the file that it leads to: `People` of `/users/people.html`."""
    name, dot, _ = href.partition("#")[0].partition("?")[0].rpartition("/")[2].partition(".")
    return bool(dot) and name.lower() == "-".join(text.lower().split())


def _is_in_prose(segment: Segment, linked: str) -> bool:
    """Return whether a link stands among the words of a sentence: a person whom the text names, and no byline."""
    start = segment.text.find(linked)
    if start < 0:
        return False
    before, after = segment.text[:start], segment.text[start + len(linked) :]
    return any(map(str.isalnum, _BY.sub("", before))) or len(after.split()) > MAX_WORDS_AFTER


def _has_author_class(page: Walk, segment: Segment) -> bool:
    element = segment.element
    for _ in range(2):
        if element > 0 and (named := page.attribute(element, "class")) and _NAME_CLASS.search(named):
            return True
        element = page.parents[element]
        if element < 0:
            break
    return False


def _linked_part(segment: Segment, name: str) -> str:
    """Return the text of the link that begins a byline: the name without the words after it. Empty: there is none."""
    linked = next((segment.text[start:end] for start, end, kind, _, _ in segment.spans if kind == "link"), "")
    return linked if linked and name.lstrip().startswith(linked) else ""


def _find_by_class(tree: LexborHTMLParser, strangers: Set[str]) -> str:
    for before, text in labelled_lines(tree, "named", MAX_LABELLED, MAX_NAME_CHARS):
        if _is_reference(before):
            continue
        if name := _clean([text]):
            return name if name not in strangers else ""
    return ""


def _is_reference(before: str) -> bool:
    """Return whether the text before a name in its line is more than a byline has there, such as a work."""
    words = [word for word in before.split() if any(map(str.isalpha, word))]
    return len(words) > MAX_WORDS_BEFORE and not _ENDS_BY.search(before.rstrip())


def _clean(names: Iterable[str], strangers: Set[str] = frozenset()) -> str:
    found: dict[str, None] = {}
    for text in names:
        name = _AFTER.sub("", _BY.sub("", " ".join(text[:500].split()))).strip(" ,.;:|-–—")
        words = len(name.split())
        if (
            1 < len(name) <= MAX_NAME_CHARS
            and words <= 6
            and not _NOT_NAME.search(name)
            and any(map(str.isalpha, name))
            and name not in strangers
        ):
            found.setdefault(name)
    return ", ".join(list(found)[:MAX_NAMES])
