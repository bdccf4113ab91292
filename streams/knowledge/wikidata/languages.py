"""The labels and descriptions of an item in the languages of readers. Pure.

Wikidata has 500 languages, with texts in many of them for what is widely known. Kept are the languages of the largest
Wikipedias, each with a text of at most `MAX_NAME_CHARS` characters, and a text that repeats the record's own is empty:
names of people are written alike in most languages with one script.
"""

from collections.abc import Mapping
from typing import Any

from streams.knowledge.entity import MAX_NAME_CHARS
from streams.knowledge.wikidata.values import at

_KEPT = """
    af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl he hi hr hu hy id is it ja ka kk ko lt lv mk ml
    mn mr ms my ne nl pa pl pt ro ru si sk sl sq sr sv sw ta te th tl tr uk ur uz vi
"""
_FORMS = {
    "no": ("nb", "no", "nn"),
    "zh": ("zh", "zh-hans", "zh-cn", "zh-hant", "zh-tw"),
    "sr": ("sr", "sr-ec", "sr-el"),
}
"""Languages that Wikidata has in several forms, the usual one first."""
FORMS = {**{language: (language,) for language in _KEPT.split()}, **_FORMS}
"""Wikidata's codes of each kept language, by the primary subtag that requests name."""


def translations(texts: Any, own: str) -> dict[str, str]:
    """Return the texts by their languages; an empty one where it is the record's own."""
    if not isinstance(texts, Mapping):
        return {}
    found: dict[str, str] = {}
    for language, forms in FORMS.items():
        for form in forms:
            if form in texts and isinstance(value := at(texts[form], "value"), str) and value.strip():
                text = " ".join(value.split())[:MAX_NAME_CHARS]
                found[language] = "" if text == own else text
                break
    return found
