"""The support check: whether a statement says what a sentence of a model says. Pure, and strict on purpose.

A sentence is supported if it is a shortened form of one statement that it names: all of its words, names and quantities
are in the statement (a leading subject may be in its context), in the same order, and nothing was left out between
them, or around them, that changes what is stated. So numbers, units, names, negations, comparisons, conditions and the
order of who does what are compared exactly, and whatever is not understood counts as not supported: a true sentence in
other words is lost, a false one is not shown. docs/reference/answers.md has the shares of both.

Two parts may change places: "the X is Y" for "Y is the X", and a phrase of place or time may lead or trail.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streams.answers.support.alignment import align
from streams.answers.support.framing import fault_of_frame, without_questions
from streams.answers.support.left_out import LeftOut, is_event
from streams.answers.support.tokens import Token, keys_of, tokens_of
from streams.answers.support.word_lists import CONDITIONS, PHRASES, RELATIVES, SUBORDINATE

MAX_SENTENCE_CHARS = 600
"""Maximum characters of a sentence that is checked: a longer one is not supported."""
MIN_TOKENS = 2
"""Minimum tokens of a sentence that says something."""
MAX_PHRASE = 6
"""Maximum tokens of a phrase of place or time that may be moved."""
_FREE_TO_ADD = frozenset({"now", "past"})
"""Tenses of `is` and `was`, which a shortened form may add: "X, a river" becomes "X is a river"."""
_FREE_CONTENT = frozenset({"call", "name", "known", "locat", "accord"})


@dataclass(frozen=True, slots=True)
class Support:
    """The outcome of a check."""

    is_supported: bool
    reason: str = ""
    """Why the sentence is not supported, for the log and for tests."""


@dataclass(frozen=True, slots=True)
class Source:
    """A statement that a sentence may stand on: its text, and the texts around it."""

    text: str
    context: tuple[str, ...] = ()


def check_support(sentence: str, source: Source) -> Support:
    """Return whether the statement says what the sentence says. Its context may give a leading subject its words."""
    if len(sentence) > MAX_SENTENCE_CHARS:
        return Support(False, "too long")
    claim = _without_end(tokens_of(sentence))
    text = source.text if sentence.rstrip().endswith("?") else without_questions(source.text)
    if not text:
        return Support(False, "a question")
    if sum(token.role != "boundary" for token in claim) < MIN_TOKENS:
        return Support(False, "says nothing")
    around = keys_of(source.context)
    if fault := fault_of_frame(sentence, text):
        return Support(False, fault)
    stated = _without_end(tokens_of(text))
    return _first_supported(_check(variant, stated, around) for variant in _variants(claim, stated))


def _variants(claim: list[Token], stated: list[Token]) -> Iterator[list[Token]]:
    """Yield the sentence, "Y is X" for "The X is Y", and the sentence with a moved phrase of place or time."""
    yield claim
    tenses = [place for place, token in enumerate(claim) if token.role == "tense"]
    is_same = any(token.key == claim[0].key and "the" in token.lead for token in stated)
    if len(tenses) == 1 and "the" in claim[0].lead and is_same and 0 < tenses[0] < len(claim) - 1:
        at = tenses[0]
        if all(token.role not in ("negation", "boundary") for token in claim):
            yield [*claim[at + 1 :], claim[at], *claim[:at]]
    yield from _moved(claim)


def _moved(claim: list[Token]) -> Iterator[list[Token]]:
    """Yield the sentence with a leading phrase of place or time at its end, and with a trailing one in front."""
    first = next((place for place, token in enumerate(claim) if token.role == "boundary"), 0)
    if claim[0].role == "relation" and claim[0].key in PHRASES and 1 < first <= MAX_PHRASE:
        yield [*claim[first + 1 :], *claim[:first]]
    starts = [place for place, token in enumerate(claim) if token.role == "relation" and token.key in PHRASES]
    if starts and starts[-1] > 1 and len(claim) - starts[-1] <= MAX_PHRASE:
        yield [*claim[starts[-1] :], *claim[: starts[-1]]]


def _without_end(tokens: list[Token]) -> list[Token]:
    while tokens and tokens[-1].role == "boundary":
        tokens = tokens[:-1]
    return tokens


def _check(claim: Sequence[Token], stated: Sequence[Token], around: frozenset[str]) -> Support:
    words = [token for token in claim if token.role != "boundary"]
    return _first_supported(
        _check_places(claim, words, places, stated, around) for places in _alignments(words, stated)
    )


def _first_supported(outcomes: Iterator[Support]) -> Support:
    """Return the first outcome that supports the sentence, else the first one. What follows is not computed."""
    first = next(outcomes)
    return first if first.is_supported else next((each for each in outcomes if each.is_supported), first)


def _alignments(words: Sequence[Token], stated: Sequence[Token]) -> Iterator[list[int | None]]:
    """Yield the alignment that prefers the last of repeated words, and the one that prefers the first, if another."""
    last = align(words, stated)
    yield last
    turned = align(words[::-1], stated[::-1])[::-1]
    first = [None if place is None else len(stated) - 1 - place for place in turned]
    if first != last:
        yield first


def _check_places(
    claim: Sequence[Token],
    words: Sequence[Token],
    places: Sequence[int | None],
    stated: Sequence[Token],
    around: frozenset[str],
) -> Support:
    led = _leading_from_context(words, places, around)
    missing = [
        token
        for number, (token, place) in enumerate(zip(words, places, strict=True))
        if place is None and number >= led and not _may_be_added(token)
    ]
    if missing:
        return Support(False, f"{missing[0].role}: {missing[0].text}")
    matched = [place for place in places if place is not None]
    if len(matched) < MIN_TOKENS or len(matched) < len(words) / 2:
        return Support(False, "too little in the statement")
    return _check_left_out(claim, words, places, matched, stated, led)


def _leading_from_context(words: Sequence[Token], places: Sequence[int | None], around: frozenset[str]) -> int:
    """Return the number of first words that the context has: the subject of the statement, instead of a pronoun."""
    led = 0
    while led < len(words) and places[led] is None:
        token = words[led]
        if token.role not in ("name", "content", "relation") or token.key not in around:
            break
        led += 1
    return led


def _may_be_added(token: Token) -> bool:
    return (token.role == "tense" and token.key in _FREE_TO_ADD) or (
        token.role == "content" and token.key in _FREE_CONTENT
    )


def _check_left_out(
    claim: Sequence[Token],
    words: Sequence[Token],
    places: Sequence[int | None],
    matched: Sequence[int],
    stated: Sequence[Token],
    led: int,
) -> Support:
    """Return whether what the statement says beyond the sentence changes nothing."""
    taken, asides = frozenset(matched), _places_in_asides(matched, stated)
    for place, token in enumerate(stated):
        is_limiting = token.role == "negation" or (token.role == "limit" and place not in asides)
        if is_limiting and place not in taken and _is_near(place, stated, matched):
            return Support(False, f"left out: {token.text}")
    left_out = LeftOut(stated, matched)
    if not any(token.is_quoted for token in claim) and (reason := left_out.quotation_fault()):
        return Support(False, reason)
    if reason := left_out.leading_fault(is_led=led > 0):
        return Support(False, reason)
    if reason := left_out.gap_fault(_joined(claim, places)):
        return Support(False, reason)
    if _tense_fault(words, places, stated, matched):
        return Support(False, "another tense")
    if reason := left_out.trailing_fault():
        return Support(False, reason)
    return Support(True)


def _joined(claim: Sequence[Token], places: Sequence[int | None]) -> frozenset[int]:
    """Return the places in the statement of words that have a comma, `and` or `but` before them in the sentence."""
    numbered, joined = iter(places), set()
    is_behind_boundary = False
    for token in claim:
        if token.role == "boundary":
            is_behind_boundary = True
            continue
        place = next(numbered)
        if is_behind_boundary and place is not None:
            joined.add(place)
        is_behind_boundary = False
    return frozenset(joined)


def _places_in_asides(matched: Sequence[int], stated: Sequence[Token]) -> set[int]:
    """Return the places between two commas, or brackets, from which nothing was taken over, except conditions."""
    found: set[int] = set()
    for first, second in pairwise(matched):
        gap = range(first + 1, second)
        if len(gap) > 1 and stated[gap[0]].role == stated[gap[-1]].role == "boundary":
            found.update(place for place in gap if stated[place].key not in CONDITIONS)
    return found


def _is_near(place: int, stated: Sequence[Token], matched: Sequence[int]) -> bool:
    """Return True if a limiting word is about what was taken over, as far as its place shows.

    `and` and `but` end what a word behind the sentence is about, and what a weak word before it is about. A comma ends
    only what a weak word behind the sentence is about. Negations and conditions before the sentence always hold.
    """
    token = stated[place]
    is_strong = token.role == "negation" or token.key in CONDITIONS
    if matched[0] < place < matched[-1]:
        return True
    between = stated[place : matched[0]] if place < matched[0] else stated[matched[-1] : place]
    marks = {each.key for each in between if each.role == "boundary"}
    if any(each.key in SUBORDINATE or RELATIVES.intersection(each.lead) for each in between):
        marks.add(",")
    if place < matched[0]:
        return is_strong or "and" not in marks
    if token.key in SUBORDINATE or (token.key in CONDITIONS and _is_alternative(place, stated, matched)):
        return False
    opens = stated[place - 1].role == "boundary"
    return not marks or (token.key in CONDITIONS and opens and "and" not in marks)


def _is_alternative(place: int, stated: Sequence[Token], matched: Sequence[int]) -> bool:
    """Return True for the second condition of "if A or if B", where the sentence has the first one."""
    return stated[place - 1].key == "or" and any(stated[at].key == stated[place].key for at in matched)


def _tense_fault(
    words: Sequence[Token], places: Sequence[int | None], stated: Sequence[Token], matched: Sequence[int]
) -> bool:
    """Return True if the sentence adds `is` where the statement has `was` or an event, or the other way round."""
    added = {token.key for token, place in zip(words, places, strict=True) if token.role == "tense" and place is None}
    tenses = {token.key for token in stated if token.role == "tense"}
    is_over = "now" in added and is_event(stated)
    return is_over or (bool(added) and bool(tenses) and not added <= tenses)
