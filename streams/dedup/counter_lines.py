"""Compares two documents of one page apart from their counters: lines such as "1,204 views" or "Updated 2 days ago".

Such a line changes with each visit, and says nothing about the page's subject. A corrected price or number changes as
little, and must be found: so a line is a counter only if all of its words are in the lists below or are numbers. In
other languages than English no line is one, and each change counts.
"""

import re
import unicodedata
from dataclasses import replace

from streams.language.months import CALENDAR_WORDS
from streams.pages.document.model import Block, Document
from streams.pages.text.tokens import words

MAX_WORDS = 16
"""Maximum number of words of a counter."""
_NUMBER = re.compile(r"\d[\d.,]*(?:st|nd|rd|th|s|ms|z|t\d\d)?")
_KIND_WORDS = """
views view viewed visits visit visited visitors visitor hits hit comments comment likes like shares share online updated
modified accessed retrieved generated rendered loaded ago
"""
"""Words of which a counter has at least one."""
_OTHER_WORDS = """
a about am an and at by counter date day days gmt guests hour hours in it just last members minute minutes month months
now number of on page pages pm post second seconds since so far the this time times today total users utc was week weeks
year years yesterday
"""
"""Other words that a counter may have."""
_KINDS, _OTHERS = frozenset(_KIND_WORDS.split()), CALENDAR_WORDS.union(_OTHER_WORDS.split())


def is_counter(line: str) -> bool:
    """Return whether a line is a counter of the page, or the time of its last change."""
    if any(char == "%" or unicodedata.category(char) == "Sc" for char in line):
        return False
    found = words(line)
    if not 2 <= len(found) <= MAX_WORDS or _KINDS.isdisjoint(found):
        return False
    return all(word in _KINDS or word in _OTHERS or _NUMBER.fullmatch(word) for word in found)


def differ_by_counters(former: Document, present: Document) -> bool:
    """Return whether two documents are equal apart from their counters. Links are not compared: another stage has them.

    How sure the languages are is not compared either: it depends on each letter.
    """
    return _without_counters(former) == _without_counters(present)


def _without_counters(document: Document) -> Document:
    blocks = tuple(map(_without_counter, document.blocks))
    return replace(document, blocks=blocks, links=(), language_confidence=0.0)


def _without_counter(block: Block) -> Block:
    if is_counter(block.text):
        return Block(block.tag, "", block.parent)
    return block._replace(confidence=0.0)
