"""Made nonsense queries: nothing on any page answers them. Pure.

    letters      letters without a word, as from a cat on the keyboard
    invented     words that sound like a language, and are of none
    questions    questions about such a word
    identifiers  names, versions and codes that nothing has
    mixed        words of the language that have nothing in common, in a sentence without sense

They are made from a fixed seed, so each run asks the same ones.
"""

import random
from collections.abc import Callable, Mapping
from itertools import chain

SEED = 45
PER_KIND = 40

_KEYS = "asdfghjklqwertyuiopzxcvbnm"
_ONSETS = "b bl br d dr f fl fr g gl gr h j k kl kr l m n p pl pr s sk sl sn sp st t tr v vl w y z".split()
_VOWELS = "a e i o u oo ee".split()
_CODAS = "b d ff g k lk lm mp n nd ng nk p rb rg rk rt sk t x z".split()
_ENDINGS = ("", "", "", "ing", "ine", "ous", "er", "ed", "ax")
_QUESTIONS = (
    "what is a {0}",
    "who invented the {0} {1}",
    "when was {0} {1} born",
    "how do I {0} my {1}",
    "why does {0} {1} the {2}",
    "where can I buy {0} {1}",
)
_ANIMALS = "walrus otter flamingo hedgehog ostrich lobster moth camel".split()
_THINGS = "trombone marmalade hammock umbrella sonnet mitten pancake chandelier".split()
_ACTS = "sneezes juggles whispers yodels knits waltzes snores gargles".split()
_LIKE = "purple velvet sleepy crunchy lukewarm ticklish soggy melancholy".split()
_SENSELESS = ("{l} {a} {v} {t}", "{a} {t} {l} {t2}", "the {l} {t} of {a} {v} {t2}", "{t} {t2} {a}")


def make_nonsense() -> Mapping[str, tuple[str, ...]]:
    """Return 200 queries by their kind."""
    drawn = random.Random(SEED)
    kinds: Mapping[str, Callable[[random.Random], str]] = {
        "letters": _letters,
        "invented": lambda drawn: " ".join(_word(drawn) for _ in range(drawn.randint(1, 4))),
        "questions": _question,
        "identifiers": _identifier,
        "mixed": _mixed,
    }
    return {kind: tuple(make(drawn) for _ in range(PER_KIND)) for kind, make in kinds.items()}


def all_nonsense() -> list[str]:
    """Return the queries of all kinds."""
    return list(chain.from_iterable(make_nonsense().values()))


def _letters(drawn: random.Random) -> str:
    return " ".join("".join(drawn.choices(_KEYS, k=drawn.randint(5, 10))) for _ in range(drawn.randint(1, 3)))


def _word(drawn: random.Random) -> str:
    syllables = (drawn.choice(_ONSETS) + drawn.choice(_VOWELS) + drawn.choice(_CODAS) for _ in range(2))
    return "".join(syllables) + drawn.choice(_ENDINGS)


def _question(drawn: random.Random) -> str:
    return drawn.choice(_QUESTIONS).format(*(_word(drawn) for _ in range(3)))


def _identifier(drawn: random.Random) -> str:
    words = [_word(drawn) for _ in range(2)]
    number = drawn.randint(1_000, 99_999)
    return drawn.choice(
        (
            "_".join(words).upper(),
            f"{words[0]}::{words[1]}",
            f"{drawn.randint(13, 99)}.{number}.{drawn.randint(60, 99)}",
            f"0x{number:08X}{drawn.randint(10, 99)}",
            f"{words[0][:4].upper()}-{number}",
            words[0] + words[1].title() + drawn.choice(_ONSETS).title(),
        )
    )


def _mixed(drawn: random.Random) -> str:
    things = drawn.sample(_THINGS, 2)
    return drawn.choice(_SENSELESS).format(
        l=drawn.choice(_LIKE), a=drawn.choice(_ANIMALS), v=drawn.choice(_ACTS), t=things[0], t2=things[1]
    )
