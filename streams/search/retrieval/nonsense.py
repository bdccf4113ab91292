"""Made nonsense queries: nothing on any page answers them. Pure.

    letters      letters without a word, as from a cat on the keyboard
    invented     words that sound like a language, and are of none
    questions    questions about such a word
    identifiers  names, versions and codes that nothing has
    mixed        words of the language that have nothing in common, in a sentence without sense

Hashes decide what is drawn, so each run asks the same ones.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain

PER_KIND = 40

_KEYS = "asdfghjklqwertyuiopzxcvbnm"
_SOUNDS = {
    "onset": "b bl br d dr f fl fr g gl gr h j k kl kr l m n p pl pr s sk sl sn sp st t tr v vl w y z",
    "vowel": "a e i o u oo ee",
    "coda": "b d ff g k lk lm mp n nd ng nk p rb rg rk rt sk t x z",
    "ending": "ing ine ous er ed ax",
}
_QUESTIONS = (
    "what is a {0}",
    "who invented the {0} {1}",
    "when was {0} {1} born",
    "how do I {0} my {1}",
    "why does {0} {1} the {2}",
    "where can I buy {0} {1}",
)
_WORDS = {
    "animal": "walrus otter flamingo hedgehog ostrich lobster moth camel",
    "thing": "trombone marmalade hammock umbrella sonnet mitten pancake chandelier",
    "act": "sneezes juggles whispers yodels knits waltzes snores gargles",
    "quality": "purple velvet sleepy crunchy lukewarm ticklish soggy melancholy",
}
_OTHER_WORDS = {
    "animal": "badger penguin giraffe squirrel peacock shrimp beetle donkey",
    "thing": "accordion custard blanket lantern limerick slipper biscuit curtain",
    "act": "coughs dances mutters sings paints skates yawns cooks",
    "quality": "orange woolen drowsy salty chilly clumsy rusty gloomy",
}
_SENSELESS = (
    "{quality} {animal} {act} {thing}",
    "{animal} {thing} {quality} {act}",
    "the {quality} {thing} of {animal} {act}",
    "{thing} {act} {animal}",
)


class _Drawn:
    """Choices that are always the same ones: hashes of their number and of a name."""

    def __init__(self, name: str) -> None:
        self._name, self._number = name, 0

    def below(self, limit: int) -> int:
        """Return a number from 0, below the limit."""
        self._number += 1
        digest = blake2b(f"{self._name} {self._number}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % limit

    def choose(self, values: Sequence[str]) -> str:
        return values[self.below(len(values))]

    def sound(self, kind: str) -> str:
        return self.choose(_SOUNDS[kind].split())

    def word(self) -> str:
        """Return an invented word of two syllables."""
        syllables = "".join(self.sound(kind) for kind in ("onset", "vowel", "coda") * 2)
        return syllables + (self.sound("ending") if self.below(2) else "")


def make_nonsense(draw: str = "") -> Mapping[str, tuple[str, ...]]:
    """Return 200 queries by their kind. Another `draw` has others."""
    return {kind: tuple(_make_kind(_Drawn(f"{draw}{kind}"), make)) for kind, make in _KINDS.items()}


def all_nonsense() -> list[str]:
    """Return the 200 queries of all kinds."""
    return list(chain.from_iterable(make_nonsense().values()))


def make_senseless() -> tuple[str, ...]:
    """Return 40 further queries like the kind `mixed`, of more frequent words. They have no part in any choice."""
    return tuple(_make_kind(_Drawn("held"), lambda drawn: _senseless(drawn, _OTHER_WORDS)))


def _make_kind(drawn: _Drawn, make: Callable[[_Drawn], str]) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < PER_KIND:
        made[make(drawn)] = None
    return list(made)


def _letters(drawn: _Drawn) -> str:
    words = ("".join(drawn.choose(_KEYS) for _ in range(5 + drawn.below(6))) for _ in range(1 + drawn.below(3)))
    return " ".join(words)


def _invented(drawn: _Drawn) -> str:
    return " ".join(drawn.word() for _ in range(1 + drawn.below(4)))


def _question(drawn: _Drawn) -> str:
    return drawn.choose(_QUESTIONS).format(*(drawn.word() for _ in range(3)))


def _identifier(drawn: _Drawn) -> str:
    first, second, number = drawn.word(), drawn.word(), 1_000 + drawn.below(90_000)
    return drawn.choose(
        (
            f"{first}_{second}".upper(),
            f"{first}::{second}",
            f"{13 + drawn.below(80)}.{number}.{60 + drawn.below(40)}",
            f"0x{number:08X}{10 + drawn.below(90)}",
            f"{first[:4].upper()}-{number}",
            f"{first}{second.title()}{drawn.word().title()}",
        )
    )


def _senseless(drawn: _Drawn, kinds: Mapping[str, str]) -> str:
    return drawn.choose(_SENSELESS).format(**{kind: drawn.choose(words.split()) for kind, words in kinds.items()})


_KINDS: Mapping[str, Callable[[_Drawn], str]] = {
    "letters": _letters,
    "invented": _invented,
    "questions": _question,
    "identifiers": _identifier,
    "mixed": lambda drawn: _senseless(drawn, _WORDS),
}
