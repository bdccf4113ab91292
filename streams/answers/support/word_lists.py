"""The English words that change what a sentence says, by their roles. See `tokens`.

Other languages have no lists here: their sentences are checked by their words, names, quantities and order only.
"""

_NEGATIONS = (
    "not no never none nobody nothing nowhere neither nor without cannot lack lacks lacked fail fails failed "
    "hardly barely scarcely seldom rarely"
)
_LIMITS = (
    "if unless except until only nearly almost may might could would should allegedly reportedly supposedly "
    "perhaps possibly probably likely myth rumor rumour hoax false falsely untrue wrongly claimed claims believed "
    "believes denied denies deny doubtful disputed sometimes often usually mostly partly some few many most all "
    "every each any always both either just even more less fewer least about around approximately roughly over "
    "under exactly must can"
)
_RELATIONS = (
    "by from to than or before after since during between against for with into onto through toward towards above "
    "below inside outside near off out up down behind beyond upon via per versus vs because although though "
    "however while whereas in on at when where instead despite"
)
_PLAIN = (
    "a an the of as that this these those which who whom whose it its itself he him his himself she her hers "
    "herself they them their theirs there here be been being also too then thus so such well indeed very own i "
    "you we us our your"
)
_SUPERLATIVES = (
    "first last most least best worst largest smallest highest lowest oldest youngest longest shortest biggest "
    "greatest earliest latest fastest slowest heaviest deepest tallest only main sole"
)
_NOW = "is are am 's 're has have does do"
_PAST = "was were had did"
_FUTURE = "will shall 'll"

NEGATIONS = frozenset(_NEGATIONS.split())
LIMITS = frozenset(_LIMITS.split())
"""Words that limit what a sentence says, or how sure it is."""
RELATIONS = frozenset(_RELATIONS.split())
"""Words that say who does what to whom, when, and how much."""
PLAIN = frozenset(_PLAIN.split())
"""Words that are left out of the comparison."""
SUPERLATIVES = frozenset(_SUPERLATIVES.split())
"""Words that need the whole clause behind them: the largest of what."""
JOINTS = frozenset({"and", "but"})
CONDITIONS = frozenset({"if", "unless", "except", "until"})
"""Words that limit the whole sentence, wherever they are."""
PHRASES = frozenset({"in", "on", "at", "since", "during", "after", "before"})
"""First words of phrases of place or time, which may lead or trail."""
AGENTS = frozenset({"by", "or", "than", "to", "from", "against"})
"""Relations that change who does what when they are left out."""
TENSES = {
    word: tense
    for tense, of_tense in (("now", _NOW), ("past", _PAST), ("future", _FUTURE))
    for word in of_tense.split()
}
