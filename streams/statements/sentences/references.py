"""Lines that only name other texts: entries of a bibliography, rows of an index, and "See Section 2.". Pure.

Such a line matches the words of many queries, since it has the names of what others wrote, and it says nothing about
them. A sentence with a name, a year or an address in it is no such line: what counts is that there is nothing else.
"""

import re

from streams.language.marks import MARKS
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.splitter import follows_a_word

MAX_REFERENCE_WORDS = 60
"""Maximum words of an entry of a bibliography."""
MAX_TERM_WORDS = 8
"""Maximum words of the term before its addresses: "page size - pragma.html"."""
MIN_MARKS = 3
"""Minimum kinds of marks of an entry with a year whose title is written as a sentence is, or that begins as a labelled
fact does."""
MIN_MARKS_OF_NAMES = 2
"""The same of an entry that has only names, if none of its marks is sure."""
_ADDRESS = re.compile(
    r"[\w./~%+-]{1,200}\.(?:x?html?|php|aspx?|jsp)(?:[#?]\S{0,200})?|#[A-Za-z][\w.-]{0,100}", re.IGNORECASE
)
"""An address within a site. A whole URL may be what was asked for: "Source: https://example.org/"."""
_MAYBE_ADDRESS = re.compile(r"\.(?:x?html?|php|aspx?|jsp)|#", re.IGNORECASE)
"""A part of each address: most of some hundred texts of a search have none, and their words are not read."""
_BETWEEN = frozenset(["→", "←", "⇒", "->", "=>", "-", "–", "—"])
"""Marks between a term and its addresses."""
_AROUND = "()[]<>,;"
_AROUND_WORDS = ".,;:()[]'’"
_KEY = re.compile(r"\[[A-Za-z+]{2,20}[0-9]{2}[a-z]?\]\s{0,3}[\"'“‘«A-Z]")
"""The key of an entry, with the beginning of the title or name: "[rowe87] The"."""
_LABEL = re.compile(r"\[[A-Z][A-Za-z+-]{2,20}\]\s")
"""A key that is not sure: "[GROKKING] "."""
_LAST_URL = re.compile(r"[.,]\shttps?://\S{1,300}(?:\s\.)?\Z")
"""The address that ends an entry of a site: "[HARBOUR] The Harbour. https://harbour.example ."."""
_FACT = re.compile(r"[^|:.,\d\"“„«\[\]]{1,40}:\s")
"""The label of a fact: "Director: ". A person has initials and a house has a number there, too."""
_YEAR = r"(?:1[5-9]|20)[0-9]{2}[a-z]?"
_HAS_YEAR = re.compile(_YEAR)
_PAGES = r"[0-9]{1,4}[-–][0-9]{1,4}(?![0-9-])"
_LAST_YEAR = re.compile(rf"\.[”\"]?\s(?=(?:\([A-Z][a-z]{{2,9}}\.?\s)?{_YEAR}\.?(?:\s(?:pp?\.\s)?{_PAGES}\.?)?\Z)")
"""The full stop before the year that ends an entry."""
_SURE_MARKS = (
    re.compile(r"\b(?:ISBN|ISSN|doi|DOI|arXiv)\b"),
    re.compile(
        r"\b(?:[Vv]ol|[Nn]o|Nr|pp?)\.\s?[0-9]|\bProc\.|"
        r"\b(?:First|Second|Third|[0-9]{1,2}(?:st|nd|rd|th)) Ed(?:ition|\.)"
    ),
    re.compile(r"\bet al\.\Z"),
    re.compile(r"\b[A-Z]\.[\s-]?(?:[A-Z]\.[\s-]?){0,3}[A-Z][a-z]|\b[A-Z][a-z]{1,30}, [A-Z]\."),
)
"""Marks of an entry, which other names have seldom: the number of a book, a volume or edition, a name with initials."""
_MARKS = (
    *_SURE_MARKS,
    re.compile(
        r"\w\s(?:Press|Verlag|Conference|Journal|Proceedings)\b|\b(?:Conference|Journal|Proceedings) (?:of|on) "
    ),
    re.compile(rf"\({_YEAR}\)|[.,”\"]\s(?:[A-Z][a-z]{{2,9}}\.?\s)?{_YEAR}\.?(?=\s|\Z)"),
    re.compile(r"\b[0-9]{1,4}\s?\([0-9]{1,3}\)"),
    re.compile(rf"\s{_PAGES}"),
)
"""The same marks, and a publisher, a year, an issue, and pages."""
_ENDS_INSIDE = re.compile(rf"[a-z)\]”\"][{MARKS};:]\s+[A-Z]")
"""The end of a sentence before another one."""
MAX_POINTER_WORDS = 25
"""Maximum words of a sentence that only leads to another text."""
_LEADS_TO = re.compile(
    rf"(?:for [^{MARKS}:;,]{{1,100}}, (?=see\s(?:section|chapter|appendix)\b)|"
    r"for (?:an? |the )?(?:more |further |additional |full |complete |detailed )?"
    rf"(?:information|details?|examples?|descriptions?|explanations?|lists?|references?)\b[^{MARKS}:;,]{{0,120}},? )?"
    r"(?:please )?(?:also )?(?:see|refer to|check|consult)\s(?!(?:how|if|that|what|when|whether|why)\b)",
    re.IGNORECASE,
)
"""The beginning of a sentence that leads elsewhere. "See a doctor." begins so, too."""
_TO_A_TEXT = re.compile(
    r"\s(?:(?:also|above|below|here|section|chapter|appendix|figure|table|page|article|documentation|manual)\b|"
    r"https?://|[\w.-]{1,40}\([0-9][a-z]?\)|"
    r"for (?:[\w-]{1,20} ){0,2}(?:information|details?|descriptions?|explanations?|examples)\b)",
    re.IGNORECASE,
)
"""The part that shows that a text is meant: "See Section 40.1 for the names of events."."""
_PLACE = re.compile(
    r"(?:Section|Chapter|Appendix|Table|Part|Figure) (?:[A-Z]|[0-9]{1,3})(?:\.[0-9]{1,3}){0,5}\.|"
    r"the (?:[\w.-]{1,40}(?:\([0-9][a-z]?\))? )?(?:manual|man) page(?: (?:for|of) [\w.() -]{1,60})?\."
)
"""The place of a text, at the end of a sentence: "Section 38.15.", "the ferry(8) manual page."."""
_IS_THERE_TEXT = """
    available covered defined described detailed discussed documented explained found given listed presented shown
"""
_IS_THERE = frozenset(_IS_THERE_TEXT.split())
"""The participles before a place: "Their meaning is detailed in Section 38.15."."""
_BE = frozenset(["is", "are", "was", "were", "be", "been"])
MAX_SUBJECT_WORDS = 12
"""Maximum words of a sentence before its place. A longer one says something itself."""
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]{1,300}[\"”»]")
_SMALL_WORD_TEXT = """
    a al an and as at by de der des di du e ed eds et for from in la le of on or pp the to und van vol von with y
"""
_SMALL_WORDS = frozenset(_SMALL_WORD_TEXT.split())
"""Words with a small letter within names and titles."""


def is_reference(text: str) -> bool:
    """Return whether a text only names other texts, by their addresses or as a bibliography does."""
    return has_only_addresses(text) or is_bibliographic(text)


def leads_elsewhere(text: str) -> bool:
    """Return whether a text is one sentence that says only where another text is."""
    inner = text.strip().strip("()")
    if word_count(inner) > MAX_POINTER_WORDS or not inner.endswith(".") or _ENDS_INSIDE.search(inner) is not None:
        return False
    leads = _LEADS_TO.match(inner)
    if leads is not None and _TO_A_TEXT.search(inner, leads.end() - 1) is not None:
        return True
    head, title, _ = inner.partition(", “")  # the title of a place may have any words
    before, _, place = (f"{head}." if title else inner).rpartition(" in ")
    words = before.split()
    if _PLACE.fullmatch(place) is None or not 0 < len(words) <= MAX_SUBJECT_WORDS:
        return False
    return words[-1] in {"appear", "appears"} or (words[-1] in _IS_THERE and not _BE.isdisjoint(words[-3:-1]))


def has_only_addresses(text: str) -> bool:
    """Return whether a text has addresses within a site, and at most a term before them: "page size → pragma.html"."""
    if _MAYBE_ADDRESS.search(text) is None:
        return False
    words = [word for word in (part.strip(_AROUND) for part in text.split()) if word]
    addresses = [_ADDRESS.fullmatch(word) is not None for word in words]
    if True not in addresses:
        return False
    first, count = addresses.index(True), sum(addresses)
    if count > 1 and 2 * count > len(words):
        return True
    is_behind_a_mark = 1 < first <= MAX_TERM_WORDS + 1 and words[first - 1] in _BETWEEN
    return is_behind_a_mark and all(addresses[first:])


def is_bibliographic(text: str) -> bool:
    """Return whether a text is an entry of a bibliography, or a part of one: names, a title, a year, pages."""
    text = text.strip()
    if word_count(text) > MAX_REFERENCE_WORDS:
        return False
    if _KEY.match(text) or (_LABEL.match(text) and _LAST_URL.search(text)):
        return True
    words = _QUOTED.sub("", text).split()
    names = (word.strip(_AROUND_WORDS) for word in words if not word.startswith(("https://", "http://")))
    if all(not word[:1].islower() or word in _SMALL_WORDS for word in names) and not _has_letters_without_case(text):
        if _FACT.match(text) is not None:
            return _count_marks(text) >= MIN_MARKS
        is_sure = _LABEL.match(text) is not None or any(mark.search(text) for mark in _SURE_MARKS)
        return is_sure or _count_marks(text) >= MIN_MARKS_OF_NAMES
    if _HAS_YEAR.search(text) is None:  # most sentences end here
        return False
    return _ends_with_year(text) or _count_marks(text) >= MIN_MARKS


def _has_letters_without_case(text: str) -> bool:
    """Return whether a text has letters of a script in which capitals don't tell names from sentences."""
    return not text.isascii() and any(char.isalpha() and not (char.islower() or char.isupper()) for char in text)


def _ends_with_year(text: str) -> bool:
    """Return whether a text ends with a year that is a sentence by itself: no sentence stands before one.

    In "It was founded c. 1540." no sentence ends before the year.
    """
    found = _LAST_YEAR.search(text)
    return found is not None and follows_a_word(text, found.end())


def _count_marks(text: str) -> int:
    return sum(mark.search(text) is not None for mark in _MARKS)
