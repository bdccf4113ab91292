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
    "under exactly must can whether seem seems seemed appear appears appeared tend tends tended apparently presumably "
    "potentially theoretically generally typically normally commonly frequently occasionally mainly largely partially "
    "default"
)
_RELATIONS = (
    "by from to than or before after since during between against for with into onto through toward towards above "
    "below inside outside near off out up down behind beyond upon via per versus vs because although though "
    "however while whereas in on at when where instead despite"
)
_PLAIN = (
    "a an the of as that this these those which who whom whose it its itself he him his himself she her hers "
    "herself they them their theirs there here be been being also too then thus so such well indeed very own i "
    "you we us our your likewise furthermore moreover therefore hence"
)
_SUPERLATIVES = (
    "first last most least best worst largest smallest highest lowest oldest youngest longest shortest biggest "
    "greatest earliest latest fastest slowest heaviest deepest tallest only main sole"
)
_RESTRICTING = (
    "vice former ex deputy acting assistant fake false mock toy pseudo quasi near semi non anti counter sub co "
    "so-called self-proclaimed would-be alleged supposed purported suspected imaginary fictional fictitious "
    "hypothetical possible probable potential likely prospective proposed planned intended attempted expected "
    "future past previous initial temporary provisional interim honorary late retired artificial synthetic "
    "imitation virtual partial approximate average minimum maximum optional deprecated experimental unofficial "
    "upper lower north south east west step half grand great god dummy replica prototype trial mistakenly erroneously "
    "incorrectly nominally temporarily formerly previously originally initially unofficially partly ostensibly "
    "purportedly hypothetically fictionally jokingly unsuccessfully"
)
_SCOPES = (
    "in on at for with when where while whereas under within inside outside during before after since near above "
    "below behind beyond upon via per from against"
)
_CONTRASTS = "but whereas while although though however yet unlike instead rather otherwise conversely despite"
_ATTRIBUTIONS = (
    "said say says saying stated states wrote writes argued argues asserted asserts insisted insists told tells "
    "thought thinks suggested suggests proposed proposes predicted predicts speculated assumed assumes imagined "
    "dreamed dreamt joked pretended hoped feared suspected suspects announced promised reported reports according "
    "legend folklore rumors hypothesis theory fiction novel think suspect guess guesses"
)
_FICTIONS = (
    "film movie novel story tale play opera poem comic cartoon episode game dream legend myth fable fairy series "
    "musical manga anime sitcom"
)
_DENIALS = "myth false untrue hoax wrong mistaken disproved disproven refuted debunked denied fabricated invented lie"
_IRREGULAR_PAST = (
    "became began broke brought built bought caught chose came did drew drank drove ate fell felt fought found flew "
    "gave went grew had heard held kept knew laid led left lost made met paid ran rose sold sent shot sang sank sat "
    "slept spoke spent stood stole struck swam swept swore took taught threw understood wore won wrote born written "
    "known chosen taken given driven fallen grown stolen struck shown thrown begun frozen sunk"
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
CONDITIONS = frozenset({"if", "unless", "except", "until", "whether"})
"""Words that limit the whole sentence, wherever they are."""
RESTRICTING = frozenset(_RESTRICTING.split())
"""Words before a noun without which it names another thing: a vice president is no president."""
SCOPES = frozenset(_SCOPES.split())
"""First words of phrases that say where, when or for whom something is so."""
CONTRASTS = frozenset(_CONTRASTS.split())
"""Words that say that the clauses of a statement differ."""
ATTRIBUTIONS = frozenset(_ATTRIBUTIONS.split())
"""Words that show that a clause is what somebody says or supposes."""
FICTIONS = frozenset(_FICTIONS.split())
"""Works in which something is so: a phrase with one of them is never left out."""
DENIALS = frozenset(_DENIALS.split())
"""Words by which the end of a statement takes back its beginning."""
TOGETHER = frozenset(
    {"between", "both", "mix", "mixture", "combination", "sum", "alloy", "blend", "compound", "half", "pair", "union"}
)
"""Words that need both parts behind them: `between the sea and the wall`."""
IRREGULAR_PAST = frozenset(_IRREGULAR_PAST.split())
SUBORDINATE = frozenset({"while", "because", "although", "though", "whether"})
"""First words of a clause in which a limiting word is about this clause only."""
MODALS = frozenset({"may", "might", "could", "would", "should", "can", "must"})
POSSIBLE = frozenset({"can", "could", "may", "might"})
RELATIVES = frozenset({"that", "which", "who", "whom", "whose"})
STRENGTHENED = frozenset(
    NEGATIONS
    | {"all", "every", "each", "any", "always", "both", "only", "most", "few", "less", "least", "if", "unless"}
    | {"until", "whether", "when", "exactly", "must", "except"}
)
"""Words, beside negations and superlatives, that make a sentence say more when a word beside them is left out: "no dog
bites" says more than "no old dog bites", while "a dog bites" says less than "an old dog bites"."""
PHRASES = frozenset({"in", "on", "at", "since", "during", "after", "before"})
"""First words of phrases of place or time, which may lead or trail."""
AGENTS = frozenset({"by", "or", "than", "to", "from", "against", "per"})
"""Relations that change who does what when they are left out."""
TENSES = {
    word: tense
    for tense, of_tense in (("now", _NOW), ("past", _PAST), ("future", _FUTURE))
    for word in of_tense.split()
}
