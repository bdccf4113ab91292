"""The words of a statement that a sentence leaves out, and whether the sentence still follows without them. Pure.

Few general rules, which refuse by default:

- Between two words, a sentence may leave out a whole aside, the first parts of a list, a phrase of place or time, or
  words that stand before their noun. So no noun is lost whose complement stays ("the brother of Anna's husband" is not
  "the brother of Anna"), and the subject of one clause gets no end of another.
- A phrase of place or time may be left out of an event of the past only, and only of a statement without a contrast.
  What is generally so, is so under the circumstances that the statement names.
- Beside a negation, a condition, `all`, `only` or a superlative, nothing may be left out of the clause: there, fewer
  words say more. An `or` may be left out only there, or beside `can`.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

from streams.answers.support.tokens import Token
from streams.answers.support.word_lists import (
    AGENTS,
    ATTRIBUTIONS,
    CONDITIONS,
    CONTRASTS,
    DENIALS,
    FICTIONS,
    IRREGULAR_PAST,
    JOINTS,
    MODALS,
    POSSIBLE,
    RELATIVES,
    RESTRICTING,
    SCOPES,
    STRENGTHENED,
    SUPERLATIVES,
    TOGETHER,
)

_NOUNS = ("content", "name", "quantity")
_OPENERS = frozenset({"example", "instance", "fact", "addition", "particular", "contrast", "short", "words", "turn"})
"""Last words of phrases that open a sentence and say nothing: for example, in fact, in other words."""
_BRACKETS = "([—–-"


class LeftOut:
    """The words of a statement that a sentence leaves out. Each method returns why they change it, or nothing."""

    def __init__(self, stated: Sequence[Token], matched: Sequence[int]) -> None:
        self._stated, self._matched = stated, matched
        span = stated[matched[0] : matched[-1] + 1]
        has_contrast = any(token.text.lower() in CONTRASTS for token in stated)
        self._is_generic = has_contrast or not is_event(span)

    def quotation_fault(self) -> str:
        """Return the first word of a quotation that the sentence makes a statement of."""
        taken = [self._stated[place] for place in self._matched]
        has_more = any(not token.is_quoted and token.role in _NOUNS for token in self._stated)
        is_quotation = has_more and all(token.is_quoted for token in taken)
        return f"a quotation: {taken[0].text}" if is_quotation else ""

    def leading_fault(self, *, is_led: bool) -> str:
        """Return why the left out beginning changes the sentence: it must end with a comma or say nothing."""
        before = self._stated[: self._matched[0]]
        if not before:
            return ""
        if is_led:
            rest = [token for token in before if token.role in (*_NOUNS, "relation")]
            return f"another subject: {rest[0].text}" if rest else ""
        if reason := _attribution(before):
            return reason
        inner = [token for token in before if token.role != "boundary"]
        if before[-1].role != "boundary":
            rest = [token for token in _segments(before)[-1] if token.role != "tense"]
            is_note = len(rest) <= 3 and rest[-1].text.lower() in ("note", "mind") if rest else False
            return f"begins inside: {rest[-1].text}" if rest and not is_note else ""
        is_one_noun = len(inner) == 1 or all(token.role == "name" for token in inner)
        if inner and is_one_noun and before[-1].text.lower() in JOINTS:
            return f"part of a subject: {inner[-1].text}"
        return self._opening_fault(before)

    def _opening_fault(self, before: Sequence[Token]) -> str:
        """Return the phrase of place or time that opens the statement, or the clause of the sentence."""
        segments = _segments(before)
        for segment in (segments[:1] + segments[-1:]) if segments else ():
            is_opener = len(segment) <= 3 and segment[-1].text.lower() in _OPENERS
            is_limiting = self._is_generic and (_is_scope(segment) or segment[0].key == "to")
            if not is_opener and (is_limiting or _is_of_fiction(segment)):
                return f"left out: {segment[0].text}"
        return ""

    def gap_fault(self, joined: frozenset[int]) -> str:
        """Return why the words left out between two words change the sentence."""
        for first, second in pairwise(self._matched):
            gap = self._stated[first + 1 : second]
            if all(token.role == "boundary" for token in gap):
                continue
            if reason := self._fault_between(first, second, gap, is_joined=second in joined):
                return reason
        return ""

    def _fault_between(self, first: int, second: int, gap: Sequence[Token], *, is_joined: bool) -> str:
        for token in gap:
            if token.role == "negation" or token.key in CONDITIONS:
                return f"left out: {token.text}"
        if gap[0].role == gap[-1].role == "boundary":
            return _aside_fault(gap, is_generic=self._is_generic)
        inner = [token for token in gap if token.role != "boundary"]
        is_ended = gap[-1].role == "boundary"
        is_list = is_ended and not is_joined and all(_is_one_word(part) for part in _segments(gap))
        if not is_list and any(token.role == "boundary" for token in gap[: len(gap) - is_ended]):
            return f"joins two clauses: {inner[0].text}"
        if is_ended and not is_joined:
            return f"left out: {inner[0].text}" if self._has_near(first, TOGETHER) else _list_fault(inner)
        return self._clause_fault(first, second, inner)

    def _clause_fault(self, first: int, second: int, gap: Sequence[Token]) -> str:
        """Return why words that are left out inside of a clause change it."""
        if self._is_strengthened(first) or self._is_subject(first):
            return f"left out: {gap[0].text}"
        phrase: list[Token] = []
        for place, token in enumerate(gap, start=first + 1):
            if token.role in ("limit", "tense") or RELATIVES.intersection(token.lead):
                return f"left out: {token.text}"
            if token.role == "relation":
                if token.key in AGENTS or (self._is_generic and _is_scope(gap[place - first - 1 :])):
                    return f"left out: {token.text}"
                phrase = [token]
            elif phrase:
                phrase.append(token)
            elif not self._is_before_noun(place):
                return f"left out: {token.text}"
        if not phrase:
            return ""
        if _is_of_fiction(gap):
            return f"left out: {phrase[0].text}"
        after = self._stated[first + 1 + len(gap)]
        goes_on = after.role in _NOUNS and (not after.lead or "of" in after.lead)
        return f"ends inside: {phrase[-1].text}" if len(phrase) == 1 or goes_on else ""

    def _is_subject(self, first: int) -> bool:
        """Return True for a place before the verb of a sentence about what is generally so."""
        tenses = [place for place in self._matched if self._stated[place].role in ("tense", "limit")]
        return self._is_generic and bool(tenses) and first < tenses[-1]

    def _is_before_noun(self, place: int) -> bool:
        """Return True for a word that only describes the noun behind it, or says how something is done."""
        token, before, after = self._stated[place], self._stated[place - 1], self._stated[place + 1]
        lower = token.text.lower()
        is_other_thing = lower in RESTRICTING or lower.endswith(("'s", "s'"))
        if token.role != "content" or is_other_thing or before.role == "quantity":
            return False  # the word behind a number may be its unit: 5 lakh rupees
        if lower.endswith("ly"):
            return True
        is_led = bool(token.lead) or before.role not in ("content", "name") or place - 1 not in self._matched
        return is_led and after.role in ("content", "name") and not after.lead

    def trailing_fault(self) -> str:
        """Return why the left out end changes the sentence."""
        behind = self._stated[self._matched[-1] + 1 :]
        inner = [token for token in behind if token.role != "boundary"]
        if not inner:
            return ""
        first, last = inner[0], self._matched[-1]
        if first.key == "or":
            is_name = behind[0].text == "("
            is_open = self._is_strengthened(last) or self._has_near(last, POSSIBLE)
            return "" if is_name or is_open else "left out: or"
        denied = [token for token in inner if token.text.lower() in DENIALS]
        are_numbers = first.role == self._stated[last].role == "quantity"
        is_sum = behind[0].text.lower() in JOINTS and (are_numbers or self._has_near(last, TOGETHER))
        if denied or is_sum or first.key in ("than", "per"):
            return f"left out: {(denied or inner)[0].text}"
        if behind[0].role == "boundary" and (reason := self._contrast_fault(behind)):
            return reason
        return _attribution(_until_joint(behind)) or self._end_of_clause_fault(_segments(behind, first=True)[0])

    def _contrast_fault(self, behind: Sequence[Token]) -> str:
        """Return `but not in`, or `but only in`, where the sentence has no such phrase: it limits all of it."""
        start = next(at for at, token in enumerate(behind) if token.role != "boundary")
        limit, after = behind[start], behind[start + 1] if len(behind) > start + 1 else None
        if behind[start - 1].text.lower() != "but" or limit.key not in ("not", "only", *CONDITIONS) or after is None:
            return ""
        has_alike = limit.key == "not" and any(self._stated[place].key == after.key for place in self._matched)
        is_phrase = after.role == "relation" or limit.key in CONDITIONS or after.key in CONDITIONS
        return f"left out: {limit.text}" if is_phrase and not has_alike else ""

    def _end_of_clause_fault(self, clause: Sequence[Token]) -> str:
        if not clause:
            return ""
        first = clause[0]
        if self._is_strengthened(self._matched[-1]):
            return f"left out: {first.text}"
        is_relative = bool(RELATIVES.intersection(first.lead))
        describes = is_relative or _is_participle(clause)
        if describes and (not self._is_generic or self._ends_with_one(is_object=True)):
            return ""
        if first.role in (*_NOUNS, "tense") or is_relative:
            return f"ends inside: {first.text}"
        if first.role != "relation":
            return ""
        is_limiting = self._is_generic and _is_scope(clause) and not self._ends_with_one()
        is_limiting = is_limiting or _is_of_fiction(clause)
        return f"left out: {first.text}" if len(clause) == 1 or is_limiting else ""

    def _ends_with_one(self, *, is_object: bool = False) -> bool:
        """Return True if the sentence ends with `is a lake` or `in a table`: still true with less about the lake.

        With `is_object`, also after a verb (`returns a number`), which may have a phrase of its own behind the noun.
        """
        for place in reversed(self._matched):
            token = self._stated[place]
            if "a" in token.lead or "an" in token.lead:
                return is_object or (place > 0 and self._stated[place - 1].role in ("tense", "relation"))
            if token.lead or token.role not in ("content", "name"):
                break
        return False

    def _is_strengthened(self, place: int) -> bool:
        """Return True if a word near the place makes the sentence say more when another word is left out."""
        return self._has_near(place, STRENGTHENED | SUPERLATIVES)

    def _has_near(self, place: int, keys: Collection[str]) -> bool:
        """Return True if the sentence has one of the words in the part of the statement that the place is in."""
        start, end = place, place
        while start > 0 and self._stated[start - 1].role != "boundary":
            start -= 1
        while end + 1 < len(self._stated) and self._stated[end + 1].role != "boundary":
            end += 1
        near = [self._stated[at] for at in self._matched if start <= at <= end]
        return any(token.key in keys or token.text.lower() in keys for token in near)


def _is_scope(phrase: Sequence[Token]) -> bool:
    """Return True for a phrase that says where, when or for whom something is so. `In order to` does not."""
    is_purpose = len(phrase) > 1 and phrase[1].text.lower() == "order"
    return phrase[0].role == "relation" and phrase[0].key in SCOPES and not is_purpose


def _is_of_fiction(phrase: Sequence[Token]) -> bool:
    """Return True for `in the film`."""
    return phrase[0].role == "relation" and any(token.text.lower() in FICTIONS for token in phrase)


def _is_participle(clause: Sequence[Token]) -> bool:
    """Return True for `named after ...` or `listing the ...` behind a noun."""
    ends = clause[0].text.lower().endswith(("ed", "ing")) and clause[0].role == "content"
    return ends and len(clause) > 1 and (clause[1].role in ("relation", "name") or bool(clause[1].lead))


def is_event(span: Sequence[Token]) -> bool:
    """Return True for a clause about one event of the past."""
    if any((token.role == "tense" and token.key != "past") or token.key in MODALS for token in span):
        return False
    words = [token.text.lower() for token in span if token.role in ("content", "name") and not token.lead]
    return any(word.endswith("ed") or word in IRREGULAR_PAST for word in words)


def _attribution(tokens: Sequence[Token]) -> str:
    """Return the word by which what is left out shows that another one says the sentence."""
    return next((f"left out: {token.text}" for token in tokens if token.text.lower() in ATTRIBUTIONS), "")


def _until_joint(tokens: Sequence[Token]) -> Sequence[Token]:
    ends = (at for at, token in enumerate(tokens) if token.text.lower() in (*JOINTS, ";"))
    return tokens[: next(ends, len(tokens))]


def _segments(tokens: Sequence[Token], *, first: bool = False) -> list[list[Token]]:
    """Return the words between the boundaries. With `first`, also an empty part before the first boundary."""
    found: list[list[Token]] = [[]]
    for token in tokens:
        if token.role == "boundary":
            found.append([])
        else:
            found[-1].append(token)
    return found if first else [segment for segment in found if segment]


def _aside_fault(gap: Sequence[Token], *, is_generic: bool) -> str:
    """Return why words between two commas can't be left out: they are the end of one part and the whole next one."""
    inner = [at for at, token in enumerate(gap) if token.role != "boundary"]
    start, middle, end = gap[: inner[0]], gap[inner[0] : inner[-1]], gap[inner[-1] + 1 :]
    words = [gap[at] for at in inner]
    is_limiting = all(token.role == "limit" for token in words) or (is_generic and _is_scope(words))
    if is_limiting or _is_of_fiction(words):
        return f"left out: {words[0].text}"
    if reason := _attribution(gap):
        return reason
    if gap[0].text in _BRACKETS or _has_joint(end):
        return ""
    is_new_part = any(_has_joint(pair) for pair in pairwise(middle) if {each.role for each in pair} == {"boundary"})
    return f"joins two clauses: {gap[inner[0]].text}" if _has_joint(start) or is_new_part else ""


def _has_joint(tokens: Sequence[Token]) -> bool:
    return any(token.role == "boundary" and token.text.lower() in JOINTS for token in tokens)


def _is_one_word(part: Sequence[Token]) -> bool:
    return len(part) == 1 and part[0].role == "content"


def _list_fault(inner: Sequence[Token]) -> str:
    """Return why the first part of a list can't be left out."""
    if inner[0].role == "tense" and all(token.role not in ("negation", "limit") for token in inner):
        return ""  # "was born in Rome and" before "died in Paris": both have the subject before them
    for token in inner:
        is_part = token.role in ("limit", "name", "quantity", "tense")
        if is_part or token.key in AGENTS or RELATIVES.intersection(token.lead):
            return f"left out: {token.text}"
    return ""
