"""The facts of a page that help a reader of results: its rating, price, duration, and accepted answer. Pure.

They come from structured data, where the page's author writes them, so they are shown as what the page says. A fact is
taken only if one thing on the page has it: a list of products has no price of its own.

    fact         text in the record
    rating       the value, such as 4.5
    best         the best possible value
    ratings      the number of ratings
    price        the price, or the lowest one
    currency     ISO 4217
    seconds      the duration (a video, a recipe)
    answer       the accepted answer to the page's question
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from streams.pages.metadata.items import Item, add_main_entities, kinds, texts
from streams.plain_text import clean_line

MAX_ANSWER_CHARS = 300
_MAX_RATING = 100.0
_MAX_SECONDS = 1_000_000
_DURATION = re.compile(
    r"P(?:([0-9]{1,3})D)?(?:T(?:([0-9]{1,4})H)?(?:([0-9]{1,5})M)?(?:([0-9]{1,6})(?:\.[0-9]{1,3})?S)?)?"
)
_CURRENCY = re.compile("[A-Z]{3}")
_UNIT_SECONDS = (86_400, 3_600, 60, 1)

TypedFacts = dict[str, str]


def typed_facts(items: Sequence[Item]) -> TypedFacts:
    """Return the facts of these items; empty if there are none."""
    wide = add_main_entities(list(items))
    found: TypedFacts = {}
    for read in (_rating, _price, _duration, _answer):
        found |= _only_one(read, wide)
    return found


def _only_one(read: Callable[[Item], TypedFacts], items: Sequence[Item]) -> TypedFacts:
    """Return the facts that the function reads, if all items that have such facts agree."""
    different = [facts for item in items if (facts := read(item))]
    return different[0] if different and all(facts == different[0] for facts in different) else {}


def _rating(item: Item) -> TypedFacts:
    rated = item if "AggregateRating" in kinds(item) else _first_item(item.get("aggregateRating"))
    if rated is None:
        return {}
    value, best = _number(rated.get("ratingValue")), _number(rated.get("bestRating")) or 5.0
    count = _number(rated.get("ratingCount")) or _number(rated.get("reviewCount"))
    if not value or not count or not 0 < value <= best <= _MAX_RATING:
        return {}
    return {"rating": f"{value:g}", "best": f"{best:g}", "ratings": f"{count:.0f}"}


def _price(item: Item) -> TypedFacts:
    offers = list(_inner_items(item.get("offers")))
    prices = {(_number(offer.get("lowPrice") or offer.get("price")), _currency(offer)) for offer in offers}
    if len(prices) != 1:
        return {}
    price, currency = prices.pop()
    return {"price": f"{price:.2f}", "currency": currency} if price and currency else {}


def _currency(offer: Item) -> str:
    return next((text for text in texts(offer.get("priceCurrency")) if _CURRENCY.fullmatch(text)), "")


def _duration(item: Item) -> TypedFacts:
    for name in ("totalTime", "duration", "timeRequired"):
        for text in texts(item.get(name)):
            if (match := _DURATION.fullmatch(text)) is not None:
                seconds = sum(int(part or 0) * unit for part, unit in zip(match.groups(), _UNIT_SECONDS, strict=True))
                return {"seconds": str(seconds)} if 0 < seconds <= _MAX_SECONDS else {}
    return {}


def _answer(item: Item) -> TypedFacts:
    if "Question" not in kinds(item):
        return {}
    accepted = _first_item(item.get("acceptedAnswer"))
    text = clean_line(" ".join(texts(accepted.get("text")))) if accepted else ""
    return {"answer": text[:MAX_ANSWER_CHARS]} if text else {}


def _first_item(value: Any) -> Item | None:
    return next(_inner_items(value), None)


def _inner_items(value: Any) -> Iterator[Item]:
    for inner in value if isinstance(value, list) else [value]:
        if isinstance(inner, dict):
            yield inner


def _number(value: Any) -> float:
    """Return a number, also of a text with a comma as its decimal separator; 0 if it is none."""
    for text in texts(value):
        try:
            number = float(text.strip().replace(",", ".")) if len(text) <= 20 else 0.0
        except ValueError:
            return 0.0
        return number if math.isfinite(number) and number > 0 else 0.0
    return 0.0
