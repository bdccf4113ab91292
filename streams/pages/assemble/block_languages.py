"""The languages of a page: the part of it that identifies its language, and blocks in another language or script.

Sentences come first, without code, options and names of functions: a manual of a program begins with its name and its
options, and a model for languages finds Turkish in them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from streams.pages.document.model import Block, Identified
from streams.pages.text.alphabets import ALPHABETS, PLAIN_WORDS
from streams.pages.text.language import LANGUAGES_OF_WORD, ONE_LANGUAGE, identify, primary
from streams.pages.text.scripts import dominant_script, script_counts, script_of

MIN_PARAGRAPH_CHARS = 60
"""Minimum length of a paragraph that is read before headings and short lines (characters)."""
MIN_SAMPLE_CHARS = 60
"""Minimum length of the paragraphs that are enough, and of all prose. With less, the rest of the page is read, too."""
MAX_BLOCKS = 300
"""Maximum number of blocks that are looked at: the sample is in the first ones."""
MAX_TEXT_CHARS = 2_000
"""Maximum length of a block's beginning that is read (characters)."""
_CODE_WORD = re.compile(r"(?<!\S)(?=[!-~]*[_(){}\[\]<>=\\/*|;#$@~+])[!-~]++(?!\S)|(?<!\S)--?[a-zA-Z][!-~]*+")
"""A word of ASCII characters with a sign of code in it, or an option of a program."""
_MIN_FOREIGN_CHARS = 80
"""Minimum length (characters) of a foreign block in the page's script. A title or a row of names looks foreign, too."""
_MIN_FOREIGN_CONFIDENCE = 0.9
_MIN_OTHER_SCRIPT_CHARS = 8
_MIN_ONE_OF_CLOSE_CONFIDENCE = 0.6
"""Minimum confidence where only the choice between languages of one script, or close relatives, is in doubt."""
_MIN_OTHER_WORDS = 2
_MIN_OTHER_LETTERS = 3
_ENOUGH_OWN_WORDS = 2
_JUDGED_CHARS = 200
MAX_VAIN = 6
"""Maximum number of blocks that the model finds in the page's own language. Then it is asked no more."""
MAX_ASKED = 1_000
"""Maximum number of blocks that the model judges, and of blocks with a language in their markup that it judges: a
dictionary has tens of thousands, and would take seconds."""
_CLOSE = (
    frozenset({"bs", "hr", "sh", "sr"}),
    frozenset({"id", "ms"}),
    frozenset({"no", "nn"}),
    frozenset({"zh", "yue", "wuu"}),
)
"""Close languages: if the model finds one of them on a page in another one, it is usually wrong."""
_NOT_LATIN_WORD = re.compile(
    "(?:[\u0370-\u1dff\u1f00-\u1fff\u2c00-\u2c5f\u2c80-\u2dff\u2e80-\ua71f\ua800-\uab2f\uab70-\ufaff\ufb13-\ufdff\ufe70-\ufefe"
    "\uff66-\uffdc\U00010000-\U0001d3ff\U00020000-\U000323af](?:[^\\W\\d_]|[\u0300-\u036f])*)"
)
"""A word with a first letter that is not Latin."""
_WRITTEN_TOGETHER = ("Kana", "Hani")
"""Scripts of one text: a Japanese text has lines without kana."""
_AS_THE_PAGE = Identified()


def sample_for_language(blocks: Sequence[Block], max_chars: int) -> str:
    """Return the first paragraphs without code; on a page without paragraphs the short lines, then all."""
    first = blocks[:MAX_BLOCKS]
    sample = _first_chars((text for text in _prose(first) if len(text) >= MIN_PARAGRAPH_CHARS), max_chars)
    if len(sample) < MIN_SAMPLE_CHARS:
        sample = _first_chars(_prose(first), max_chars)
    if len(sample) < MIN_SAMPLE_CHARS:
        sample = _first_chars((block.text for block in first), max_chars)
    return sample


def _prose(blocks: Sequence[Block]) -> Iterator[str]:
    return (_without_code(block) for block in blocks if block.tag != "pre")


def _without_code(block: Block) -> str:
    """Return a block's text without its spans of code and words that look like code."""
    parts, end = [], 0
    for span in block.spans:
        if span.kind in ("code", "math") and span.start >= end:
            parts.append(block.text[end : span.start])
            end = span.end
    return " ".join(_CODE_WORD.sub(" ", "".join([*parts, block.text[end:]])[:MAX_TEXT_CHARS]).split())


def _first_chars(texts: Iterable[str], max_chars: int) -> str:
    return "\n".join(_until(texts, max_chars))[:max_chars]


def _until(texts: Iterable[str], max_chars: int) -> Iterator[str]:
    if max_chars <= 0:
        return
    for text in texts:
        yield text
        max_chars -= len(text) + 1
        if max_chars <= 0:
            return


def name_languages(blocks: tuple[Block, ...], page: Identified) -> tuple[Block, ...]:
    """Name the language or script of each block that differs from the page.

    A language in the markup is kept, and gets the confidence of its text. Code gets only a script.
    """
    unnamed = [index for index, block in enumerate(blocks) if not block.language and block.tag != "pre"]
    made = list(blocks)
    found = identify_blocks([blocks[index].text for index in unnamed], page)
    for index, other in zip(unnamed, found, strict=True):
        if other is not _AS_THE_PAGE:
            made[index] = blocks[index]._replace(**other._asdict())
    own, asked = primary(page.language), 0
    for index in sorted(set(range(len(blocks))).difference(unnamed)):
        block = blocks[index]
        foreign = block.tag != "pre" and primary(block.language) != own and asked < MAX_ASKED
        asked += foreign
        confidence = _confidence_in(block.text, block.language) if foreign else 0.0
        script = _in_script(_other_script(block.text, page.script), page.script).script
        if confidence or script:
            made[index] = block._replace(confidence=confidence, script=script)
    return tuple(made)


def remove_page_language(blocks: tuple[Block, ...], language: str) -> tuple[Block, ...]:
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
    """Identify the blocks with a language and script that surely differ from the page's.

    Nearly all blocks are in the page's language, and the model takes as long for one block as a cheap test for a
    hundred. So the model only judges blocks that fail the cheap test, until it found the page's own language MAX_VAIN
    times, and at most MAX_ASKED blocks.
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


def _confidence_in(text: str, declared: str) -> float:
    """Return the confidence (0 to 1) that a text is in its declared language; 0 if another is more likely."""
    found = identify(text, declared)
    return found.confidence if primary(found.language) == primary(declared) else 0.0


def _other_script(text: str, page_script: str) -> str:
    """Return the dominant script at the start of a text; empty if it is the page's."""
    head = text[:_JUDGED_CHARS]
    if page_script == "Latn":
        if head.isascii() or not _in_other_letters(head):
            return ""
    elif not {script_of(text[at]) for at in (0, len(text) // 2, max(len(text) - 2, 0)) if text} - {page_script, ""}:
        return ""
    script = dominant_script(script_counts(head))
    return "" if script == page_script else script


def _may_be_foreign(text: str, script: str, page: Identified) -> bool:
    """Return whether another script dominates, or a long text has the words or letters of another language."""
    if len(text) < _MIN_FOREIGN_CHARS:
        return script not in ("", "Latn") and len(text) >= _MIN_OTHER_SCRIPT_CHARS
    if script or page.script != "Latn":
        return bool(script) or page.script not in ONE_LANGUAGE
    head = text[:_JUDGED_CHARS]
    return not _has_two_own_words(head, page.language) and _has_other_words(head, primary(page.language))


def _in_other_letters(text: str) -> bool:
    """Return whether at least a third of the text is in letters that are not Latin. Each takes two bytes or more."""
    if 3 * len(text.encode("utf-8", "surrogatepass")) < 4 * len(text):
        return False
    return 3 * sum(map(len, _NOT_LATIN_WORD.findall(text))) >= len(text)


@cache
def _own_words(language: str) -> tuple[str, ...]:
    """Return the function words of a language with spaces around them, the shortest (and most frequent) first."""
    return tuple(
        f" {word} " for word in sorted(PLAIN_WORDS.get(primary(language), ()), key=lambda word: (len(word), word))
    )


def _has_two_own_words(text: str, language: str) -> bool:
    """Return whether a text has two different function words of a language. Most texts have them in the first line."""
    found = 0
    for word in _own_words(language):
        if word in text:
            found += 1
            if found == _ENOUGH_OWN_WORDS:
                return True
    return False


def _has_other_words(text: str, label: str) -> bool:
    """Return whether a text has more function words of another language, or none of its own and foreign letters."""
    folded = text.lower()
    found = folded.split()
    own = len(PLAIN_WORDS.get(label, frozenset()).intersection(found))
    if own >= _ENOUGH_OWN_WORDS:
        return False
    hits = Counter(chain.from_iterable(LANGUAGES_OF_WORD[word] for word in LANGUAGES_OF_WORD.keys() & found))
    if any(count > own and count >= _MIN_OTHER_WORDS for count in hits.values()):
        return True
    if own or text.isascii() or 2 * sum(word[0].islower() for word in text.split()) < len(found):
        return False  # half of the words in capitals: names of any country
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
