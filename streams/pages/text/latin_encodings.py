"""Chooses the encoding of a text in Latin letters that declares none, by the language that it is in.

Browsers use the reader's language or the country of the site. A text that is decoded by another table has letters that
its language does not have: Czech by the Western table has `ø` and `ì`.
"""

from streams.pages.text.alphabets import ALPHABETS
from streams.pages.text.language import identify, primary

WESTERN = "cp1252"
ENCODINGS = ("cp1250", "cp1254", "cp1257", "cp1258", "iso8859-2", "cp775", "mac-roman")
"""Tables that are tried beside the Western one: Central European, Turkish, Baltic, Vietnamese, and older systems'."""
MIN_SHARE = 0.98
"""Minimum share of the letters beyond ASCII that are of the text's language, for another table than the Western one."""

_PUNCTUATION = frozenset("“”„‘’‚«»‹›–—…©®™°§·•€£")


def choose_latin_encoding(sample: bytes) -> str:
    """Return Python's name of the encoding of a text in Latin letters. `sample` are its first texts beyond ASCII."""
    shares = {name: _share_of_alphabet(sample.decode(name, "replace")) for name in (WESTERN, *ENCODINGS)}
    best = max(shares, key=lambda name: shares[name])  # of equal ones the first
    return best if shares[best] >= MIN_SHARE else WESTERN


def _share_of_alphabet(text: str) -> float:
    """Return the share of the characters beyond ASCII that are letters of the language that the text seems to be in."""
    found = [char for char in text.lower() if not char.isascii() and not char.isspace() and char not in _PUNCTUATION]
    alphabet = ALPHABETS.get(primary(identify(text).language), frozenset())
    return sum(char in alphabet for char in found) / len(found) if found else 1.0
