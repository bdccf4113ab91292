"""The form of statements that are no text: parts of sentences, lines of a table of contents, rows of links. Pure.

Such a statement stays in the index, since it may say where the answer is. But it is no answer, and no first sentence of
a page. How surely another statement stands by itself is a number (`standing`), which leaves none out.
"""

import re
from collections.abc import Sequence

from streams.caches import cached_if_short
from streams.language.marks import MARKS, QUESTION_MARKS, ends_sentence, is_closed
from streams.statements.sentences.lengths import MIN_WORDS, word_count
from streams.statements.sentences.open_texts import MIN_PLAIN_WORDS, beginning_of, begins_inside, ends_open
from streams.statements.sentences.references import has_only_addresses

MIN_LED_WORDS = 2
"""Minimum words of a text below its lead-in."""
MAX_LINK_WORDS = 3
"""Maximum words of a link in a row of links."""
MIN_LINKS = 3
"""Minimum links of a row of links."""
_NUMBERED_NAME = re.compile(
    r"(?:(?:Table|Figure|Example|Chapter|Section|Part) (?:[A-Z]|[0-9]{1,3})|[A-Z](?=\.)|[0-9]{1,3})"
    r"(?:\.[0-9]{1,3}){0,5}[.:,]?\s"
)
"""The number of a chapter, with which a line of a table of contents begins."""
_OF_CONTENTS = re.compile(
    r"(?:(?:Chapter|Section|Part|Appendix) (?:[A-Z]|[0-9]{1,3}|[IVX]{1,5})\b|[A-Z0-9]{1,3}(?=\.))"
    r"(?:\.[0-9]{1,3}){0,5}[.:,]?\s"
)
"""The beginning of a line of a table of contents that no sentence has: `2.1. The ship`, and not `3 ships`."""
MAX_CONTENTS_WORDS = 12
"""Maximum words of a line of a table of contents."""
_OF_EACH_PAGE = re.compile(
    r"(?:(?:this )?(?:page|file|document) )?(?:was )?last (?:modified|updated|changed|edited|generated)\b|"
    r"(?:copyright\b|©|\(c\)\s)|all rights reserved|(?:generated|created) (?:by|with|using)\b|skip to\b|"
    r"(?:new|added|changed|deprecated) in version [\d.]{1,12}\Z|"
    r"(?:other|available) languages?:",
    re.IGNORECASE,
)
"""The beginning of a line that is the same on the pages of a site."""
_OF_LICENCE = re.compile(
    r"(?:this|the) (?:page|site|website|web site|document|documentation|text|content|work) (?:is|are) (?:also )?"
    r"(?:licen[sc]ed under\b|(?:available|released|distributed|made available) under\b"
    rf"(?=(?:[^{MARKS}]|[{MARKS}](?!\s)){{0,120}}\b"
    r"(?:licen[sc]es?|terms|CC(?:0|-?BY)?|[AL]?GPL|GFDL|MIT|BSD|public domain|creative commons)\b))",
    re.IGNORECASE,
)
"""The beginning of a notice that is the same on the pages of a site, and longer than other lines."""
_OF_FEEDBACK = re.compile(
    r"(?:we welcome your (?:aid|help|feedback|comments|corrections|suggestions|contributions)|"
    r"(?:was|is) this (?:page|article|topic|document|information|answer) (?:helpful|useful)|"
    r"(?:found|spotted|noticed|see) an? (?:bug|error|mistake|typo|problem) (?:on|in|with) (?:this|the) (?:page|doc)|"
    r"if you (?:find|see|notice) (?:an? |any )?(?:bugs?|errors?|mistakes?|typos?|anything) (?:on|in) "
    r"(?:this|the) (?:page|doc)|"
    r"(?:edit|improve|suggest (?:an edit|changes) (?:to|for)) this (?:page|article|document)|"
    r"(?:please )?(?:help us by reporting|report) (?:errors|bugs|mistakes|typos|problems) (?:on|in|with) "
    r"(?:this|the) (?:page|doc))",
    re.IGNORECASE,
)
"""The beginning of a line that asks the readers of a site's pages for help."""
_OF_VERSION = re.compile(r"this (?:page|manual|document|documentation|guide) (?:is for|applies to)\s", re.IGNORECASE)
"""The beginning of a line that says which version of a program the pages of a site describe, by its last word."""
_VERSION = re.compile(r"[0-9]\.[0-9]")
_MAX_VERSION_WORDS = 9
_QUESTION = re.compile(rf"[^{MARKS};:]{{1,200}}[{''.join(QUESTION_MARKS)}]\Z")
"""A question without its answer: "What does the harbour cost?"."""
_CLOSES = re.compile(rf"[{MARKS}][)）]\Z")
"""The end of a sentence in brackets."""
_STOPS_AT_NUMBER = re.compile(r":\s\(?[0-9]{1,2}[.)]\Z")
"""The number of the first item of a list, at the end of its lead-in: "It sinks in two ways: 1."."""
_ENDS_WITH_LINKS = re.compile(r"\w\s[|·•]\Z")
"""The mark behind the last link of a row of links: "Categories: Ferries · Harbours ·"."""
LEAD_OF_LIST = "This page lists:"
"""The lead-in that a search gives to entries of a table of contents or an index, where a page has nothing else. They
are shown, and are no answer."""
_PLACES = frozenset(["prev", "previous", "next", "up", "home", "top", "contents", "index", "back", "forward"])
"""Names of links from a page to its neighbours."""
_AROUND_LINKS = " []()<>«»‹›"
_ARROW = re.compile(r"\[\s?(?:<{1,2}|[«‹←])\s[^\[\]]{0,80}\]|\[[^\[\]]{0,80}\s(?:>{1,2}|[»›→])\s?\]")
"""A link in brackets to the page before or after: "[ << Ropes ]", "[ Sails > ]"."""
MIN_PLACES = 2
"""Minimum names of neighbours in a row with a colon: "Chapter 3: Prev | Up | Next"."""
MIN_TITLE_WORD_CHARS = 4
"""Minimum letters of a word that shows by its capital that a text is a title: "of" and "the" have none there."""
MIN_TITLE_WORDS = 2
_SEPARATOR = re.compile(r"\s[|»›·•→←>]\s")
_NAMED_CELL = re.compile(r"[^|:]{1,80}:\s")
"""The beginning of a cell that says the name of its column."""
_KEPT_TEXTS = 4_096
"""Maximum texts that are judged once: 2 MB. The results and the answer of a search ask for the same statements."""
_MAX_KEPT_CHARS = 1_000
"""Maximum length of a text that is judged once (characters)."""
_MAX_LICENCE_WORDS = 60
_MAX_LINE_WORDS = 25
"""Maximum words of a line that is the same on each page: a longer text says something about its subject."""


def reads_alone(text: str, kind: str, context: Sequence[str]) -> bool:
    """Return whether nothing shows that the statement needs others: it is no part of a text, and no line of a frame."""
    return LEAD_OF_LIST not in context[-1:] and _reads_alone(text.strip(), kind, _has_lead(context))


@cached_if_short(_KEPT_TEXTS, _MAX_KEPT_CHARS)
def _reads_alone(text: str, kind: str, has_lead: bool) -> bool:
    words = word_count(text)
    if kind == "code":  # one line with a colon begins what stands below it
        return _has_words(text, MIN_LED_WORDS) and ("\n" in text or not text.endswith(":"))
    if kind == "heading" or is_navigation(text, kind) or is_of_each_page(text) or is_line_of_contents(text, kind):
        return False
    if has_only_addresses(text):
        return False
    if kind == "row":
        return words >= MIN_WORDS
    # What follows is another statement.
    if text.endswith((":", "：")) or _STOPS_AT_NUMBER.search(text[-8:]) or text[-1:] in QUESTION_MARKS:
        return False
    if kind == "list":
        return words >= MIN_WORDS and not is_list_of_names(text) and (has_lead or not _ends_sentence(text))
    if kind == "sentence" and ends_open(text):
        return False
    if has_lead and _has_words(text, MIN_LED_WORDS):
        return True
    if begins_inside(text) or ends_open(text):
        return False
    if _CLOSES.search(text[-2:]) is not None and "(" not in text:  # it opens in another sentence
        return False
    # An item of a list is complete with fewer words.
    return words >= (MIN_WORDS if ends_sentence(text) or kind in {"item", "link"} else MIN_PLAIN_WORDS)


def is_complete(text: str, kind: str, context: Sequence[str]) -> bool:
    """Return whether the statement reads alone for certain: without a lead-in, its end shows that nothing is missing.

    A text without an end mark may be a sentence or a title. In a script without capitals it counts as a sentence. A
    row needs the names of its columns. The end of a sentence behind a listing misses the listing.
    """
    if not reads_alone(text, kind, context):
        return False
    if kind == "sentence" and beginning_of(text.strip(), context).endswith((":", "：")):
        return False
    if kind == "code" or _has_lead(context) or ends_sentence(text.strip()):
        return True
    if kind == "row":
        return all(map(_NAMED_CELL.match, text.strip().split(" | ")))
    return text.upper() == text.lower()


def is_line_of_contents(text: str, kind: str) -> bool:
    """Return whether a text is a line of a table of contents, or several such lines, by the numbers of chapters."""
    if _OF_CONTENTS.match(text.lstrip()) is None or kind in {"code", "heading"}:
        return False
    if ends_sentence(text) and _QUESTION.match(text.partition(" ")[2]) is None:
        return False
    lines = [line.strip() for line in (text.split(";") if kind == "list" else text.split(" | "))]
    return all(_OF_CONTENTS.match(line) is not None and word_count(line) <= MAX_CONTENTS_WORDS for line in lines)


def is_entry(text: str, kind: str, context: Sequence[str]) -> bool:
    """Return whether a text is an entry of an index or several: a link, or names, without a lead-in or an end mark.

    Below a lead-in the names state a fact: "The masts are: Fore Mast; Main Mast". An item is an entry if its term is
    the title of its text: "Anchors, Anchors".
    """
    if kind not in {"link", "list", "item"} or _has_lead(context) or (kind != "item" and ends_sentence(text)):
        return False
    if kind == "item":
        term, _, title = text.rstrip(" .…").partition(", ")
        return term == title.rstrip(" .…")
    return kind == "link" or is_list_of_names(text)


def is_sentence(text: str) -> bool:
    """Return whether a text begins and ends as a sentence does. Letters without case may begin one."""
    return ends_sentence(text) and not text[:1].islower() and not begins_inside(text)


def _ends_sentence(text: str) -> bool:
    """Return whether a text is the end of a sentence that begins elsewhere: "a storm, or a leak."."""
    return ends_sentence(text) and text[:1].islower()


def is_navigation(text: str, kind: str) -> bool:
    """Return whether a text is a row of links, such as `Prev | Up | Next`. Rows of tables often look alike."""
    ends_with_links = kind != "row" and _ENDS_WITH_LINKS.search(text[-4:]) is not None
    if (not ends_with_links and _SEPARATOR.search(text) is None) or word_count(text) > _MAX_LINE_WORDS:
        return False
    if ends_with_links:
        return True
    links = _SEPARATOR.split(text)
    # The first cell of a row may have the name of its column before it.
    places = sum(link.rpartition(":")[2].strip(_AROUND_LINKS).lower() in _PLACES for link in links)
    places += len(_ARROW.findall(text))
    if ":" in text:
        return places >= MIN_PLACES
    return places > 0 or (
        kind != "row" and len(links) >= MIN_LINKS and all(word_count(link) <= MAX_LINK_WORDS for link in links)
    )


def is_of_each_page(text: str) -> bool:
    """Return whether a text is a line such as `last modified`, a copyright or a licence, by its words."""
    if _OF_LICENCE.match(text) is not None:
        return word_count(text) <= _MAX_LICENCE_WORDS
    if _OF_VERSION.match(text) is not None:
        last = text.partition("(")[0].rstrip(" .").rpartition(" ")[2]
        return word_count(text) <= _MAX_VERSION_WORDS and _VERSION.search(last) is not None
    is_line = _OF_EACH_PAGE.match(text) is not None or _OF_FEEDBACK.match(text) is not None
    return is_line and word_count(text) <= _MAX_LINE_WORDS


def _is_title(text: str) -> bool:
    """Return whether all long words begin with a capital, as in the titles of English pages."""
    long = [word for word in text.split() if len(word) >= MIN_TITLE_WORD_CHARS and word.isalpha()]
    return len(long) >= MIN_TITLE_WORDS and all(word[0].isupper() for word in long)


def is_list_of_names(text: str) -> bool:
    """Return whether most items are titles or lines of a table of contents."""
    items = [item.strip() for item in text.split(";")]
    return 2 * sum(bool(_NUMBERED_NAME.match(item)) or _is_title(item) for item in items) > len(items)


def _has_words(text: str, count: int) -> bool:
    return sum(any(map(str.isalpha, word)) for word in text.split()) >= count


def _has_lead(context: Sequence[str]) -> bool:
    """Return whether the last part of the context is a sentence or a lead-in. A heading is neither."""
    return bool(context) and is_closed(context[-1].strip())
