"""Finds regular expressions that may take more than linear time, by their syntax trees.

Three kinds of faults are found:

- nested: the same text is several numbers of rounds of a repeat, or several ways through a round: a repeat inside of
  another one without a separator between two rounds, or alternatives that overlap. The time is exponential.
- adjacent: two unbounded repeats that match the same characters, with something behind them that may fail.
- rescanned: a repeat that is tried again at each position of a long run, with something behind it that may fail.

Possessive repeats and atomic groups give nothing back, so they are neither nested nor adjacent. Sets of characters are
compared on a sample of all characters. A bounded repeat counts as an unbounded one if it may have more rounds than
`MAX_ROUNDS`. What a lookahead or lookbehind excludes is not excluded here, so some harmless patterns have faults.
"""

import re
import re._constants as codes  # type: ignore[import-not-found]  # not public, and without stubs
import re._parser as parser  # type: ignore[import-not-found]  # as above
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

Characters = frozenset[str]
Word = tuple[Characters, ...]
_SAMPLE = frozenset(map(chr, range(256))) | frozenset("\u0301\u0661\u2028\u200b\u3000\u0e01\u4e2d\uac00\U0001f600")
_MAX_SEQUENCES = 300
MAX_ROUNDS = 8
"""Maximum rounds of a repeat that is harmless: two ways through each round are 256 ways."""
_MAX_WORDS = 600
"""Maximum number of ways through a round that are compared."""
_MAX_WORD_CHARACTERS = 40
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_WORD: r"\w", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    """One part of a sequence: characters, how often they come, and whether they may be given back."""

    characters: Characters
    required: bool = True
    unbounded: bool = False
    possessive: bool = False


@dataclass(frozen=True, slots=True)
class Barrier:
    """A negative lookbehind, or the start of the text: these characters are not before this place."""

    characters: Characters


@dataclass(frozen=True, slots=True)
class Assertion:
    """Something without width that may fail."""


Part = Item | Barrier | Assertion


def faults(pattern: re.Pattern[str] | re.Pattern[bytes], *, searched: bool = True) -> set[str]:
    """Name the kinds of faults of a pattern. One that is only used with `match` or `fullmatch` is not `searched`."""
    return _Analysis(pattern).faults(searched)


class _Analysis:
    def __init__(self, pattern: re.Pattern[str] | re.Pattern[bytes]) -> None:
        self._flags = pattern.flags
        self._is_bytes = isinstance(pattern.pattern, bytes)
        self._tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
        if re.search(r"\(\?[a-zA-Z]*i[a-z-]*:", text):  # a part without regard to case: so the whole is taken
            self._flags |= re.IGNORECASE
        self._sample = _SAMPLE | frozenset(text) | frozenset(text.swapcase())

    def faults(self, searched: bool) -> set[str]:
        found = {"nested"} if self._has_nested(self._tree) else set()
        for sequence in self._sequences(self._tree):
            if _has_adjacent(sequence):
                found.add("adjacent")
            if searched and _is_rescanned(sequence):
                found.add("rescanned")
        return found

    # Sequences

    def _sequences(self, tree: Iterable[Any], possessive: bool = False) -> list[tuple[Part, ...]]:
        """Expand alternatives: all sequences of parts that may match."""
        sequences: list[tuple[Part, ...]] = [()]
        for code, argument in tree:
            options = self._options(code, argument, possessive)
            if len(sequences) * len(options) > _MAX_SEQUENCES:
                options = [_merged(options)]
            sequences = [(*before, *option) for before, option in product(sequences, options)]
        return sequences

    def _options(self, code: Any, argument: Any, possessive: bool) -> list[tuple[Part, ...]]:
        if code is codes.SUBPATTERN:
            return self._sequences(argument[3], possessive)
        if code is codes.ATOMIC_GROUP:
            return self._sequences(argument, True)
        if code is codes.BRANCH:
            return [sequence for branch in argument[1] for sequence in self._sequences(branch, possessive)]
        if code is codes.GROUPREF_EXISTS:
            return [s for branch in argument[1:] if branch for s in self._sequences(branch, possessive)]
        if code in _REPEATS:
            return self._repeat(code, argument, possessive)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            is_barrier = code is codes.ASSERT_NOT and argument[0] < 0 and len(argument[1]) == 1
            return [(Barrier(self._all_characters(argument[1])) if is_barrier else Assertion(),)]
        if code is codes.AT:
            is_start = argument is codes.AT_BEGINNING_STRING or (
                argument is codes.AT_BEGINNING and not self._flags & re.MULTILINE
            )
            return [(Barrier(self._sample) if is_start else Assertion(),)]
        if code is codes.GROUPREF:
            return [(Item(self._sample, required=False),)]
        return [(Item(self._characters(code, argument)),)]

    def _repeat(self, code: Any, argument: Any, possessive: bool) -> list[tuple[Part, ...]]:
        least, most, body = argument
        possessive = possessive or code is codes.POSSESSIVE_REPEAT
        if most > MAX_ROUNDS and most != least:
            return [(Item(self._all_characters(body), least > 0 and body.getwidth()[0] > 0, True, possessive),)]
        options = self._sequences(body, possessive)
        return options if least else [_optional(option) for option in options]

    # Characters

    def _characters(self, code: Any, argument: Any) -> Characters:
        if code is codes.ANY:
            return self._sample if self._flags & re.DOTALL else self._sample - {"\n"}
        if code is codes.LITERAL:
            return self._folded({chr(argument)})
        if code is codes.NOT_LITERAL:
            return self._sample - self._folded({chr(argument)})
        if code is codes.IN:
            return self._class(argument)
        raise AssertionError(f"unknown part {code}")

    def _class(self, members: Sequence[Any]) -> Characters:
        found: set[str] = set()
        for code, argument in members:
            if code is codes.LITERAL:
                found.add(chr(argument))
            elif code is codes.RANGE:
                found |= {char for char in self._sample if argument[0] <= ord(char) <= argument[1]}
                found |= {chr(argument[0]), chr(argument[1])}
            elif code is codes.CATEGORY:
                found |= self._category(argument)
        folded = self._folded(found)
        return self._sample - folded if members[0][0] is codes.NEGATE else folded

    def _category(self, category: Any) -> set[str]:
        flags = re.ASCII if self._is_bytes else self._flags & re.ASCII
        is_in = re.compile(_CATEGORIES[category], flags)
        return {char for char in self._sample if is_in.fullmatch(char)}

    def _folded(self, characters: Iterable[str]) -> Characters:
        found = frozenset(characters)
        return found | {char.swapcase() for char in found} if self._flags & re.IGNORECASE else found

    def _all_characters(self, tree: Iterable[Any]) -> Characters:
        parts = (part for sequence in self._sequences(tree) for part in sequence if isinstance(part, Item))
        return frozenset().union(*(part.characters for part in parts))

    # Ways through a round

    def _words(self, tree: Iterable[Any]) -> list[Word]:
        """Return the ways through a tree, each as the characters at each place. Ways with equal words are different."""
        words: list[Word] = [()]
        for code, argument in tree:
            options = self._word_options(code, argument)
            if len(words) * len(options) > _MAX_WORDS:
                options = options[: max(_MAX_WORDS // len(words), 1)]
            words = [(*before, *option)[:_MAX_WORD_CHARACTERS] for before, option in product(words, options)]
        return words

    def _word_options(self, code: Any, argument: Any) -> list[Word]:
        if code in _REPEATS:
            return self._rounds(code, argument)
        if code is codes.SUBPATTERN:
            return self._words(argument[3])
        if code is codes.ATOMIC_GROUP:  # what it matches is not matched in another way
            return self._words(argument)[:1]
        if code is codes.BRANCH:
            return [word for branch in argument[1] for word in self._words(branch)]
        if code is codes.GROUPREF_EXISTS:
            return [word for branch in argument[1:] if branch for word in self._words(branch)]
        if code in (codes.ASSERT, codes.ASSERT_NOT, codes.AT, codes.GROUPREF):
            return [()]
        return [(self._characters(code, argument),)]

    def _rounds(self, code: Any, argument: Any) -> list[Word]:
        """Return the words of the least number of rounds and of one and two more: further rounds show nothing new."""
        least, most, body = argument
        once = self._words(body)
        least = min(least, _MAX_WORD_CHARACTERS)
        if code is codes.POSSESSIVE_REPEAT:
            return [word * max(least, 1) for word in once[:1]]
        # The same way is taken in each round: ways that differ in one round are compared in the repeat's own check.
        numbers = range(least, min(int(most), least + 2) + 1)
        return [word * number for number in numbers for word in (once if number else [()])]

    # Nested repeats

    def _has_nested(self, tree: Iterable[Any]) -> bool:
        return any(self._is_nested(code, argument) for code, argument in tree)

    def _is_nested(self, code: Any, argument: Any) -> bool:
        if code in _REPEATS:
            is_open = code is not codes.POSSESSIVE_REPEAT and argument[1] > MAX_ROUNDS
            if is_open and any(map(_is_ambiguous_round, self._sequences(argument[2]))):
                return True
            if is_open and are_ambiguous(self._words(argument[2])):
                return True
        return any(self._has_nested(tree) for tree in _children(code, argument))


def _children(code: Any, argument: Any) -> list[Any]:
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code in _REPEATS:
        return [argument[2]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    return [argument] if code is codes.ATOMIC_GROUP else []


def _optional(sequence: Sequence[Part]) -> tuple[Part, ...]:
    """The parts of an optional group: none is required, and what fails in it does not fail the whole."""
    parts = (replace(part, required=False) if isinstance(part, Item) else part for part in sequence)
    return tuple(part for part in parts if not isinstance(part, Assertion))


def _merged(options: list[tuple[Part, ...]]) -> tuple[Part, ...]:
    items = [part for option in options for part in option if isinstance(part, Item)]
    required = all(any(isinstance(part, Item) and part.required for part in option) for option in options)
    unbounded = any(item.unbounded for item in items)
    possessive = all(item.possessive for item in items if item.unbounded)
    return (Item(frozenset().union(*(item.characters for item in items)), required, unbounded, possessive),)


def _is_ambiguous_round(sequence: Sequence[Part]) -> bool:
    """True if a round of an outer repeat has a repeat in it, and no character that separates it from the next round."""
    items = [part for part in sequence if isinstance(part, Item)]
    return any(
        inner.unbounded
        and not inner.possessive
        and not any(item.required and item.characters.isdisjoint(inner.characters) for item in items)
        for inner in items
    )


def are_ambiguous(words: Sequence[Word]) -> bool:
    """Return whether a text may be composed of the words in two ways (the algorithm of Sardinas and Patterson)."""
    words = [word for word in words if word]
    rests = {rest for one, other in permutations(words, 2) if (rest := _rest(one, other)) is not None}
    new = set(rests)
    while new:
        if () in rests:
            return True
        found = {rest for one, other in product(new, words) for rest in (_rest(one, other), _rest(other, one))}
        new = {rest for rest in found if rest is not None} - rests
        rests |= new
    return () in rests


def _rest(word: Word, longer: Word) -> Word | None:
    """Return what is left of the longer word behind the word. None: it does not begin with the word."""
    begins = len(word) <= len(longer) and not any(map(Characters.isdisjoint, word, longer))
    return longer[len(word) :] if begins else None


def _may_fail(parts: Iterable[Part]) -> bool:
    return any(isinstance(part, Assertion) or (isinstance(part, Item) and part.required) for part in parts)


def _has_adjacent(sequence: Sequence[Part]) -> bool:
    return any(
        isinstance(part, Item) and part.unbounded and not part.possessive and _meets_another(part, sequence[at + 1 :])
        for at, part in enumerate(sequence)
    )


def _meets_another(first: Item, rest: Sequence[Part]) -> bool:
    """True if another unbounded repeat of the same characters follows, without a required other character between."""
    for at, part in enumerate(rest):
        if not isinstance(part, Item):
            continue
        if part.unbounded and not first.characters.isdisjoint(part.characters) and _may_fail(rest[at + 1 :]):
            return True
        if part.required and first.characters.isdisjoint(part.characters):
            return False
    return False


def _is_rescanned(sequence: Sequence[Part]) -> bool:
    """True if a run of characters that a repeat matches has many places where the sequence begins, too."""
    for at, part in enumerate(sequence):
        if isinstance(part, Item) and part.unbounded and _may_fail(sequence[at + 1 :]):
            before = sequence[:at]
            is_fenced = any(isinstance(one, Barrier) and part.characters <= one.characters for one in before)
            required = [one for one in before if isinstance(one, Item) and one.required]
            if not is_fenced and all(not part.characters.isdisjoint(one.characters) for one in required):
                return True
    return False
