"""Words that ask, the forms of answers that questions ask for, and the words by which values and definitions show."""

import re
from collections.abc import Sequence
from itertools import pairwise

QUESTION_WORDS = frozenset({"what", "who", "whom", "whose", "when", "where", "which", "why", "how"})
_AUXILIARIES = "is are was were do does did can could should would will has have had may must shall am"
FIRST_WORDS = QUESTION_WORDS.union(_AUXILIARIES.split())
"""First words of questions."""
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(rf"(?:{pattern})\b"))
    for form, pattern in (
        ("time", r"when|how old|(?:in )?(?:what|which) (?:\w{1,40}+ )?(?:years?|dates?|day|month|decade|century)"),
        ("number", r"how (?:many|much|long|far|tall|high|big|large|fast|deep|heavy|often|hot|cold|wide)"),
        (
            "number",
            r"what (?:is |was )?(?:the )?(?:percentage|percent|number|population|price|cost|height|size)",
        ),
        ("definition", r"(?:what|who) (?:is|are|was|were|s)|what does|what do|define|definition of|meaning of"),
        ("person", r"who|whom|whose"),
        ("place", r"where|(?:in )?(?:what|which) (?:city|country|countries|county|state|states|town|continent)"),
    )
)
"""The beginnings of questions, in the order in which they are compared."""

VALUES_BY_LANGUAGE = {
    "en": {
        "number": "port ports number size limit length count height maximum minimum timeout interval threshold "
        "percentage percent population price cost",
        "command": "command commands option flag switch keystroke",
        "value": "default value setting",
    },
    "de": {
        "number": "port nummer größe grenze länge anzahl höhe maximum minimum zeitlimit intervall schwelle prozent "
        "preis",
        "command": "befehl befehle kommando option schalter",
        "value": "standardwert wert voreinstellung einstellung",
    },
    "fr": {
        "number": "port numéro taille limite longueur nombre hauteur maximum minimum délai intervalle seuil prix",
        "command": "commande commandes option",
        "value": "valeur défaut réglage",
    },
    "es": {
        "number": "puerto número tamaño límite longitud cantidad altura máximo mínimo intervalo umbral precio",
        "command": "comando comandos orden opción",
        "value": "valor predeterminado ajuste",
    },
}
"""Nouns whose value a question asks for, by language and by the kind of the value."""
DEFINING_VERBS = frozenset(
    word
    for verbs in (
        "is are was were means refers describes stands",
        "ist sind war waren bedeutet heißt",
        "est sont était désigne signifie es son era significa è sono é são zijn betekent",
    )
    for word in verbs.split()
)
"""Verbs behind the subject of a definition, in the languages above and in Italian, Portuguese and Dutch."""
_KINDS = {
    noun: kind
    for kinds in VALUES_BY_LANGUAGE.values()
    for kind in ("value", "number", "command")
    for noun in kinds[kind].split()
}
_COUNTING = frozenset({("how", "many"), ("number", "of")})
_ARTICLES = frozenset(["a", "an", "ein", "eine", "einen", "un", "une", "una"])


def kind_of_value(asked: Sequence[str]) -> str:
    """Return the kind of the value that a question asks for by its folded words; empty if it names none.

    `what is a port` asks for a definition: only a noun without an indefinite article has a value.
    """
    named = [_KINDS[word] for before, word in pairwise(("", *asked)) if word in _KINDS and before not in _ARTICLES]
    return next((kind for kind in named if kind != "value"), named[0] if named else "")


def counted_noun(asked: Sequence[str]) -> str:
    """Return the noun whose number an English question asks for by its folded words; empty if it asks for none."""
    counting = zip(asked, asked[1:], asked[2:], strict=False)
    return next((noun for one, other, noun in counting if (one, other) in _COUNTING), "")


def counting_words(asked: Sequence[str]) -> frozenset[str]:
    """Return the words that only say that a number is asked for, by the folded words: `many` of "how many"."""
    return frozenset(other for one, other in pairwise(asked) if (one, other) in _COUNTING)


def form_of_words(asked: Sequence[str]) -> str:
    """Return the form of the answer that a question asks for by its folded words, or an empty string."""
    text = " ".join(asked)
    return next((form for form, pattern in _FORMS if pattern.match(text)), "")
