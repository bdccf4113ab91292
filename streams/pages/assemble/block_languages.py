"""Which blocks of a page are in another language, or another script, than the page."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain

from streams.pages.document.model import Block, Identified
from streams.pages.text.alphabets import ALPHABETS, PLAIN_WORDS
from streams.pages.text.language import LANGUAGES_OF_WORD, ONE_LANGUAGE, identify, primary
from streams.pages.text.scripts import dominant_script, script_counts, script_of

_MIN_FOREIGN_CHARS = 80
"""Of a block in the page's script: in less, a title or a row of names looks foreign."""
_MIN_FOREIGN_CONFIDENCE = 0.9
_MIN_OTHER_SCRIPT_CHARS = 8
_MIN_ONE_OF_CLOSE_CONFIDENCE = 0.6
"""Where it surely is another, and what is doubted is only which of a script's, or of close relatives."""
_MIN_OTHER_WORDS = 2
_MIN_OTHER_LETTERS = 3
_ENOUGH_OWN_WORDS = 2
_JUDGED_CHARS = 200
MAX_VAIN = 6
"""Questions to the model, of one page, that were answered with the page's own language."""
MAX_ASKED = 1_000
"""Blocks of a page that the model is asked about; and as many whose language its markup names: a dictionary has ten
thousands, and the page would take seconds."""
_CLOSE = (
    frozenset({"bs", "hr", "sh", "sr"}),
    frozenset({"id", "ms"}),
    frozenset({"no", "nn"}),
    frozenset({"zh", "yue", "wuu"}),
)
"""A text of one of them in a page of another is a mistake of ours more often than of the page."""
_NOT_LATIN_WORD = re.compile(
    "(?:[\u0370-\u1dff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u2e80-\ua71f\ua800-\uab2f\uab70-\ufaff\ufb13-\ufdff\ufe70-\ufefe"
    "\uff66-\uffdc\U00010000-\U0001d3ff\U00020000-\U000323af](?:[^\\W\\d_]|[\u0300-\u036f])*)"
)
"""A word that doesn't begin with a Latin letter."""
_WRITTEN_TOGETHER = ("Kana", "Hani")
"""A Japanese text has lines without kana."""
_AS_THE_PAGE = Identified()


def with_languages(blocks: tuple[Block, ...], page: Identified) -> tuple[Block, ...]:
    """The blocks, those in another language or script than the page's with its name.

    A language that the page's markup names is left, and how sure it is by the text is added. Code has a script alone.
    """
    open_to_doubt = [index for index, block in enumerate(blocks) if not block.language and block.tag != "pre"]
    made = list(blocks)
    found = identify_blocks([blocks[index].text for index in open_to_doubt], page)
    for index, other in zip(open_to_doubt, found, strict=True):
        if other is not _AS_THE_PAGE:
            made[index] = blocks[index]._replace(**other._asdict())
    own, asked = primary(page.language), 0
    for index in sorted(set(range(len(blocks))).difference(open_to_doubt)):
        block = blocks[index]
        foreign = block.tag != "pre" and primary(block.language) != own and asked < MAX_ASKED
        asked += foreign
        sure = _sureness(block.text, block.language) if foreign else 0.0
        script = _in_script(_other_script(block.text, page.script), page.script).script
        if sure or script:
            made[index] = block._replace(confidence=sure, script=script)
    return tuple(made)


def without_page_language(blocks: tuple[Block, ...], language: str) -> tuple[Block, ...]:
    """A block says its language only where it is another than the page's."""
    if not any(block.language for block in blocks):
        return blocks
    own = language.partition("-")[0].lower()
    return tuple(
        block._replace(language="", confidence=0.0)
        if block.tag != "pre" and block.language.partition("-")[0] == own
        else block
        for block in blocks
    )


def identify_blocks(texts: Sequence[str], page: Identified) -> list[Identified]:
    """For each block its language, and how sure that is, where it surely isn't the page's; and its script likewise.

    Nearly all blocks are in the page's language, and the model takes as long for one as a cheap test for a hundred. So
    it is asked only where something speaks against the page's language, and no more once it said MAX_VAIN times that
    nothing did, or MAX_ASKED times at all.
    """
    found = [_AS_THE_PAGE] * len(texts)
    vain, asked = 0 if page.language else MAX_VAIN, 0
    is_latin = page.script == "Latn"
    for index, text in enumerate(texts):
        if is_latin and len(text) < _MIN_FOREIGN_CHARS and text.isascii():
            continue
        script = _other_script(text, page.script)
        if vain < MAX_VAIN and asked < MAX_ASKED and _may_be_foreign(text, script, page):
            asked += 1
            foreign = _foreign(text, page)
            vain += not foreign.language
            if foreign.language:
                found[index] = foreign._replace(script="" if foreign.script == page.script else foreign.script)
                continue
        if script:
            found[index] = _in_script(script, page.script)
    return found


def _in_script(script: str, page_script: str) -> Identified:
    return _AS_THE_PAGE if (page_script, script) == _WRITTEN_TOGETHER else Identified(script=script)


def _sureness(text: str, declared: str) -> float:
    """How sure it is by a text (0..1) that it is in the language that it is declared to be in; 0: likelier another."""
    found = identify(text, declared)
    return found.confidence if primary(found.language) == primary(declared) else 0.0


def _other_script(text: str, page_script: str) -> str:
    """The script that prevails at the start of a text, where it isn't the page's; by letters that are quickly seen."""
    head = text[:_JUDGED_CHARS]
    if page_script == "Latn":
        if head.isascii() or not _in_other_letters(head):
            return ""
    elif not {script_of(text[at]) for at in (0, len(text) // 2, max(len(text) - 2, 0)) if text} - {page_script, ""}:
        return ""
    script = dominant_script(script_counts(head))
    return "" if script == page_script else script


def _may_be_foreign(text: str, script: str, page: Identified) -> bool:
    """Whether another script prevails, or a long text has the words or letters of another language."""
    if len(text) < _MIN_FOREIGN_CHARS:
        return script not in ("", "Latn") and len(text) >= _MIN_OTHER_SCRIPT_CHARS
    if script or page.script != "Latn":
        return bool(script) or page.script not in ONE_LANGUAGE
    head = text[:_JUDGED_CHARS]
    return not _has_two_own_words(head, page.language) and _has_other_words(head, primary(page.language))


def _in_other_letters(text: str) -> bool:
    """Whether at least a third of the text is letters that aren't Latin, which take two bytes at least."""
    if 3 * len(text.encode("utf-8", "surrogatepass")) < 4 * len(text):
        return False
    return 3 * sum(map(len, _NOT_LATIN_WORD.findall(text))) >= len(text)


@cache
def _own_words(language: str) -> tuple[str, ...]:
    """The small words of a language as they stand in a text, the shortest first, as these are the most frequent."""
    return tuple(
        f" {word} " for word in sorted(PLAIN_WORDS.get(primary(language), ()), key=lambda word: (len(word), word))
    )


def _has_two_own_words(text: str, language: str) -> bool:
    """Whether two different small words of a language stand in a text: most texts have them in the first line."""
    found = 0
    for word in _own_words(language):
        if word in text:
            found += 1
            if found == _ENOUGH_OWN_WORDS:
                return True
    return False


def _has_other_words(text: str, label: str) -> bool:
    """Whether another language has more small words in a text than this one; or, with no word of this one, letters."""
    folded = text.lower()
    found = folded.split()
    own = len(PLAIN_WORDS.get(label, frozenset()).intersection(found))
    if own >= _ENOUGH_OWN_WORDS:
        return False
    hits = Counter(chain.from_iterable(LANGUAGES_OF_WORD[word] for word in LANGUAGES_OF_WORD.keys() & found))
    if any(count > own and count >= _MIN_OTHER_WORDS for count in hits.values()):
        return True
    if own or text.isascii() or 2 * sum(word[0].islower() for word in text.split()) < len(found):
        return False  # half of the words in capitals: names, which are of any country
    known = ALPHABETS.get(label, frozenset())
    return sum(char.isalpha() and char not in known for char in folded if char > "\x7f") >= _MIN_OTHER_LETTERS


def _foreign(text: str, page: Identified) -> Identified:
    block = identify(text, page.language)
    if block.confidence < _confidence_needed(block, page):
        return _AS_THE_PAGE
    labels = {primary(block.language), primary(page.language)}
    return _AS_THE_PAGE if len(labels) == 1 or any(labels <= close for close in _CLOSE) else block


def _confidence_needed(block: Identified, page: Identified) -> float:
    among_close = any(primary(block.language) in close for close in _CLOSE)
    return _MIN_ONE_OF_CLOSE_CONFIDENCE if among_close or block.script != page.script else _MIN_FOREIGN_CONFIDENCE
