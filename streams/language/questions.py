"""English words that ask, and the forms of answers that questions ask for."""

import re
from collections.abc import Sequence

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


def form_of_words(asked: Sequence[str]) -> str:
    """Return the form of the answer that a question asks for by its folded words, or an empty string."""
    text = " ".join(asked)
    return next((form for form, pattern in _FORMS if pattern.match(text)), "")
