"""Made contradictions for the check of support (`streams/answers/support`): sentences that a statement does not say.

    python -m benchmarks.answers.contradictions measure DIR... [--statements N]  the check on statements of open sets
    python -m benchmarks.answers.contradictions make FILE --out FILE             contradictions of FILE's statements
    python -m benchmarks.answers.contradictions shortened FILE                   shortened forms, true and false ones

Each rule changes the text of a statement by patterns and word lists of its own: it knows nothing of the checker's
tokens. `measure` also checks true sentences: the statement itself, and shortened forms of it (without its brackets,
without its asides, its first clause). A changed text that says the same by accident is possible, so a share below one
is expected on open sets; the fixed file in tests/data/support was read by a person.
"""

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evaluation.collection import read_collection
from streams.answers.support.check import Source, check_support
from streams.statements.sentences.splitter import SentenceSplitter

SEED = 55
MIN_CHARS, MAX_CHARS = 40, 260
"""Bounds of the statements of open collections that are changed."""

Rule = Callable[[str, random.Random, Sequence[str]], str]
"""A statement, chance, and other statements, to a changed text; empty where the rule does not apply."""

_NUMBER = re.compile(r"\b\d[\d,]*(?:\.\d+)?\b")
_YEAR = re.compile(r"\b1[5-9]\d\d\b|\b20[0-2]\d\b")
_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?")
_VERB = re.compile(r"\b(is|are|was|were|has|have|can|may|will|must)\b(?! not)")
_PLAIN_VERB = re.compile(r"\b([a-z]{3,}s|[a-z]{3,}ed)\b(?= (?:the|a|an|in|on|at|to|for|by|from)\b)")
_NO = re.compile(r"\b(?:not|never|no) |n't\b")
_WORD = re.compile(r"\b[a-z]{5,}\b")
_CONDITION = re.compile(r",? (?:if|unless|except|until|only if|provided that) [^,.;]+|\b(?:[Oo]nly|[Nn]early|[Ss]ome) ")
_HEDGE = re.compile(r"\b(?:may|might|could|possibly|probably|about|nearly|around|roughly|usually|often) ")
_PAIRS = (
    "increase/decrease rise/fall rises/sinks gain/loss lost/gained before/after first/last high/low higher/lower "
    "highest/lowest more/less longer/shorter larger/smaller largest/smallest faster/slower hot/cold open/closed "
    "opened/closed north/south east/west old/new oldest/newest early/late upper/lower over/under import/export "
    "imports/exports always/never inside/outside win/lose won/lost begin/end began/ended better/worse best/worst "
    "lighter/heavier cold/warm free/paid tallest/lowest deepest/shallowest maximum/minimum allow/forbid "
    "allows/forbids enable/disable enabled/disabled top/bottom left/right buy/sell bought/sold born/buried "
    "strong/weak deep/shallow public/private young/old male/female husband/wife father/mother son/daughter"
)
_OPPOSITES = [pair.split("/") for pair in _PAIRS.split()]
_SWITCH = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
_UNIT = re.compile(
    r"(?<=\d )(km|kilomet(?:re|er)s|miles|met(?:re|er)s|feet|hours|minutes|days|years|weeks|percent|degrees|dollars"
    r"|pounds|euros|million|billion|thousand|people)\b"
)
_OTHER_UNITS = {
    "km": "miles", "kilometres": "miles", "kilometers": "miles", "miles": "kilometres", "metres": "feet",
    "meters": "feet", "feet": "metres", "hours": "minutes", "minutes": "hours", "days": "weeks", "years": "months",
    "weeks": "days", "percent": "pounds", "degrees": "percent", "dollars": "euros", "pounds": "dollars",
    "euros": "dollars", "million": "billion", "billion": "million", "thousand": "million", "people": "families",
}  # fmt: skip
_AMOUNT = {
    "all": "some", "some": "all", "most": "few", "every": "no", "each": "no", "many": "few", "both": "neither",
    "may": "must", "must": "may", "can": "cannot", "half": "all", "none": "all", "few": "many", "between": "beyond",
}  # fmt: skip


def change_number(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    found = [each for each in _NUMBER.finditer(text) if not _YEAR.fullmatch(each[0])]
    if not found:
        return ""
    number = chance.choice(found)
    digits = list(number[0])
    place = chance.choice([at for at, char in enumerate(digits) if char.isdigit()])
    digits[place] = str((int(digits[place]) + chance.randint(1, 8)) % 9 + 1)
    changed = "".join(digits)
    return text[: number.start()] + changed + text[number.end() :] if changed != number[0] else ""


def change_year(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    found = list(_YEAR.finditer(text))
    if not found:
        return ""
    year = chance.choice(found)
    other = int(year[0]) + chance.choice([-30, -11, -2, -1, 1, 3, 10, 40])
    return f"{text[: year.start()]}{other}{text[year.end() :]}"


def change_unit(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    found = [each for each in _UNIT.finditer(text) if each[0] in _OTHER_UNITS]
    if not found:
        return ""
    unit = chance.choice(found)
    return text[: unit.start()] + _OTHER_UNITS[unit[0]] + text[unit.end() :]


def negate(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    if found := _VERB.search(text):
        return text[: found.end()] + " not" + text[found.end() :]
    if found := _PLAIN_VERB.search(text):
        return text[: found.start()] + "never " + text[found.start() :]
    return ""


def affirm(text: str, _chance: random.Random, _others: Sequence[str]) -> str:
    return _NO.sub("", text, count=1) if _NO.search(text) else ""


def change_name(text: str, chance: random.Random, others: Sequence[str]) -> str:
    own = list(_CAPITAL.finditer(text))
    foreign: list[str] = [name for other in others for name in _CAPITAL.findall(other) if name not in text]
    if not own or not foreign:
        return ""
    name = chance.choice(own)
    return text[: name.start()] + chance.choice(foreign) + text[name.end() :]


def swap_names(text: str, _chance: random.Random, _others: Sequence[str]) -> str:
    found = list(_CAPITAL.finditer(text))
    start = re.match(r"[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})+", text)
    places = [*([start] if start else []), *found]
    if len(places) < 2 or places[0][0] == places[-1][0]:
        return ""
    first, last = places[0], places[-1]
    return text[: first.start()] + last[0] + text[first.end() : last.start()] + first[0] + text[last.end() :]


def turn_round(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    found = [each for each in re.finditer(r"\b[a-z]+\b", text) if each[0] in _SWITCH]
    if not found:
        return ""
    word = chance.choice(found)
    return text[: word.start()] + _SWITCH[word[0]] + text[word.end() :]


def change_amount(text: str, chance: random.Random, _others: Sequence[str]) -> str:
    found = [each for each in re.finditer(r"\b[A-Za-z]+\b", text) if each[0].lower() in _AMOUNT]
    if not found:
        return ""
    word = chance.choice(found)
    return text[: word.start()] + _AMOUNT[word[0].lower()] + text[word.end() :]


def change_word(text: str, chance: random.Random, others: Sequence[str]) -> str:
    own = list(_WORD.finditer(text))
    foreign: list[str] = [word for other in others for word in _WORD.findall(other) if word not in text]
    if not own or not foreign:
        return ""
    word = chance.choice(own)
    alike = [each for each in foreign if each[-2:] == word[0][-2:]] or foreign
    return text[: word.start()] + chance.choice(alike) + text[word.end() :]


def join_halves(text: str, chance: random.Random, others: Sequence[str]) -> str:
    """The first half of the statement, with the second half of another one."""
    other = chance.choice(others)
    mine, its = text.split(), other.split()
    return " ".join([*mine[: len(mine) // 2], *its[len(its) // 2 :]])


def drop_condition(text: str, _chance: random.Random, _others: Sequence[str]) -> str:
    found = _CONDITION.search(text)
    changed = text[: found.start()] + text[found.end() :] if found else ""
    return changed[:1].upper() + changed[1:]


def drop_hedge(text: str, _chance: random.Random, _others: Sequence[str]) -> str:
    found = _HEDGE.search(text)
    return text[: found.start()] + text[found.end() :] if found else ""


RULES: dict[str, Rule] = {
    "number": change_number,
    "year": change_year,
    "unit": change_unit,
    "negated": negate,
    "negation dropped": affirm,
    "name": change_name,
    "names swapped": swap_names,
    "opposite": turn_round,
    "amount": change_amount,
    "word": change_word,
    "halves": join_halves,
    "condition dropped": drop_condition,
    "hedge dropped": drop_hedge,
}


def contradictions_of(statements: Sequence[str], rules: Sequence[str] = tuple(RULES)) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, the number of the statement, and the contradiction. Equal statements give equal ones."""
    for number, text in enumerate(statements):
        others = [*statements[:number], *statements[number + 1 :]][:400]
        for kind in rules:
            chance = random.Random(f"{SEED} {kind} {text}")
            changed = RULES[kind](text, chance, others)
            if changed and changed.lower() != text.lower():
                yield kind, number, changed


def true_forms(text: str) -> Iterator[tuple[str, str]]:
    """Yield true sentences: the statement, and forms that leave out what nothing depends on."""
    yield "verbatim", text
    without = re.sub(r" ?\([^()]{1,80}\)", "", text)
    if without != text:
        yield "without brackets", without
    aside = re.sub(r",(?: who| which| a| an| the| where)\b[^,.;]{3,80},", "", text, count=1)
    if aside != text:
        yield "without an aside", aside
    first = re.match(r"([^,;]{25,}), (?:and|but|which|who|while|where)\b", text)
    if first and not re.search(r"\b(?:if|unless|when|between|both|either)\b", first[1], re.IGNORECASE):
        yield "first clause", f"{first[1]}."


def measure(statements: Sequence[str]) -> dict[str, Any]:
    """The shares of contradictions that are caught, and of true sentences that are kept, by kind."""
    caught: defaultdict[str, list[bool]] = defaultdict(list)
    kept: defaultdict[str, list[bool]] = defaultdict(list)
    for kind, number, changed in contradictions_of(statements):
        caught[kind].append(not check_support(changed, Source(statements[number])).is_supported)
    for text in statements:
        for form, sentence in true_forms(text):
            kept[form].append(check_support(sentence, Source(text)).is_supported)
    return {"statements": len(statements), "caught": _shares(caught), "kept": _shares(kept)}


def measure_shortened(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the share of false shortened forms that are caught, and of true ones that are kept, by half."""
    caught: defaultdict[str, list[bool]] = defaultdict(list)
    kept: defaultdict[str, list[bool]] = defaultdict(list)
    for row in rows:
        source = Source(row["statement"])
        caught[row["half"]] += [not check_support(sentence, source).is_supported for sentence in row["false"]]
        kept[row["half"]] += [check_support(sentence, source).is_supported for sentence in row["true"]]
    return {"caught": _shares(caught), "kept": _shares(kept)}


def _shares(found: dict[str, list[bool]]) -> dict[str, Any]:
    every = [each for of_kind in found.values() for each in of_kind]
    shares = {kind: [round(sum(each) / len(each), 4), len(each)] for kind, each in sorted(found.items())}
    return {"all": [round(sum(every) / max(len(every), 1), 4), len(every)], **shares}


def statements_of(folder: Path, count: int) -> list[str]:
    """Sentences of a collection's documents, drawn by a fixed seed."""
    collection = read_collection(folder)
    documents = list(collection.documents)
    random.Random(SEED).shuffle(documents)
    splitter, found = SentenceSplitter(), []
    for document in documents:
        text = document.text.replace("\n", " ")
        for span in splitter.split([text], ["en"])[0]:
            sentence = text[span[0] : span[1]].strip()
            if MIN_CHARS <= len(sentence) <= MAX_CHARS and sentence.endswith(".") and sentence[0].isupper():
                found.append(sentence)
        if len(found) >= count:
            break
    return found[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="shares of caught contradictions and kept true sentences")
    measuring.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    measuring.add_argument("--statements", type=int, default=500)
    making = commands.add_parser("make", help="contradictions of the statements of a file")
    making.add_argument("file", type=Path, help="lines with `statement`")
    making.add_argument("--out", type=Path, required=True)
    shortened = commands.add_parser("shortened", help="shares of tests/data/support/shortened.jsonl")
    shortened.add_argument("file", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "measure":
        found = {each.name: measure(statements_of(each, arguments.statements)) for each in arguments.folders}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    rows = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines()]
    if arguments.command == "shortened":
        sys.stdout.write(json.dumps(measure_shortened(rows), indent=1) + "\n")
        return
    statements = [row["statement"] for row in rows]
    made = (
        json.dumps({"kind": kind, "statement": statements[number], "sentence": changed})
        for kind, number, changed in contradictions_of(statements)
    )
    arguments.out.write_text("".join(f"{line}\n" for line in made), encoding="utf-8")


if __name__ == "__main__":
    main()
