"""Statement chains by rule: the earlier sentence that a sentence needs to be understood. Only English.

The rule has the interface of a trained model. A sentence needs the sentence before it if it has a pronoun or
demonstrative before it has named anything. The rule misses ellipsis, definite noun phrases ("the method"), and
antecedents further back, which the chain of such sentences often reaches anyway.
"""

import re
from collections.abc import Sequence

from streams.language.marks import MARKS
from streams.language.questions import QUESTION_WORDS
from streams.models.protocols import Link

NONE = -1


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_PERSONAL = _set(
    "he she it they him her them his its their theirs hers himself herself itself themselves it's he's she's "
    "they're they've they'd it'd it'll he'd he'll she'd she'll they'll"
)
_DEMONSTRATIVE = _set("this these those that that's")
_REFERRING = _set(
    "such both neither either latter former therefore thus hence consequently accordingly otherwise instead "
    "nevertheless nonetheless however similarly likewise conversely moreover furthermore"
)
_ANY_REFERRING = _PERSONAL | _DEMONSTRATIVE | _REFERRING
_LEADING = (
    _set(
        "and but or so yet nor then also still again in on at by for from with of to as if when while because since "
        "although though after before during through under over within without between unlike despite like about "
        "even only just perhaps maybe well yes no all some most many each one because than not now here where "
        "i you we me us my your our is are was were be been do does did have has had will would can could should may "
        "might must think know see get go make take there that said"
    )
    | QUESTION_WORDS
)
"""Words that may precede the first thing that a sentence names."""
_EXPLETIVE = re.compile(
    r"it(?:['’]s|\s+(?:is|was|seems?|appears?|turns?|may|might|would|should|has|had|can|could)\b)"
    r"(?:\s+(?:be|been|not|also|now|very|quite|more|most|often|usually|generally|well|out|to))*\s+"
    r"(?:important|possible|impossible|necessary|likely|unlikely|clear|true|known|easy|hard|difficult|useful|helpful|"
    r"recommended|worth|essential|common|better|best|advisable|sufficient|noted|shown|assumed|expected|believed|said|"
    r"that|time|raining|interesting|obvious|found|seen|estimated|reported|suggested|thought)\b",
    re.IGNORECASE,
)
_WORDS_SEEN = 8
"""Number of words at the start of a sentence that the rule reads."""
_INTRODUCED = re.compile(
    r"(?!(?:when|whenever|if|because|although|though|while|once|as|since|unless|until|before|wherever)\b)"
    rf"[^,;:{MARKS}]{{4,90}},\s+(?=(?:he|she|it|they)\b)",
    re.IGNORECASE,
)
"""A phrase with no subject of its own before a pronoun: "Founded in 1871, it ..."."""


_CONNECTIVE = re.compile(
    r"\W{0,3}(?:therefore|thus|hence|consequently|accordingly|as a result|as a consequence|for this reason)\b(?! of\b)",
    re.IGNORECASE,
)


def begins_with_connective(sentence: str) -> bool:
    """Return True if the sentence begins as a conclusion ("Therefore, ..."): it needs the sentence before it."""
    return _CONNECTIVE.match(sentence) is not None


def may_refer(sentence: str) -> bool:
    """Return True if a word of the sentence can refer to an earlier sentence. If not, no chain model finds a need."""
    words = (match.group().lower().replace("’", "'") for match in _WORD.finditer(sentence))
    return any(word in _ANY_REFERRING for word in words) or begins_with_connective(sentence)


def links_by_rule(sentences: Sequence[str]) -> list[Link]:
    """Return the links of sentences by rule. An empty sentence is a break that no chain crosses."""
    needs = [needs_context(sentence) for sentence in sentences]
    return [
        Link((antecedent,) if antecedent >= 0 else (), antecedent, need=float(need), leaf=float(not need))
        for antecedent, need in zip(antecedents(sentences), needs, strict=True)
    ]


def antecedents(sentences: Sequence[str]) -> list[int]:
    """Return the index of each sentence's antecedent, or -1. An empty sentence is a break that no chain crosses."""
    return [
        index - 1 if index and sentences[index - 1].strip() and needs_context(sentence) else NONE
        for index, sentence in enumerate(sentences)
    ]


def needs_context(sentence: str) -> bool:
    """Return True if the sentence has a pronoun or demonstrative before it has named anything."""
    for number, match in enumerate(_WORD.finditer(sentence)):
        word = match.group().lower().replace("’", "'")
        if number == _WORDS_SEEN:
            break
        if word in _PERSONAL:
            return not _EXPLETIVE.match(sentence, match.start())
        if word in _DEMONSTRATIVE:
            return number == 0 or word != "that"
        if word in _REFERRING:
            return word in {"such", "latter", "former", "both", "neither", "either"} or number == 0
        if word not in _LEADING:
            break
    introduced = _INTRODUCED.match(sentence)
    return introduced is not None and not _EXPLETIVE.match(sentence, introduced.end())
