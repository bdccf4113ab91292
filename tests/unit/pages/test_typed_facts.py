"""The facts for readers of results, from a page's structured data."""

from typing import Any

import pytest

from streams.pages.metadata.typed_facts import MAX_ANSWER_CHARS, typed_facts

RATING = {"type": "AggregateRating", "ratingValue": "4,5", "ratingCount": 120}
OFFER = {"type": "Offer", "price": "9.5", "priceCurrency": "EUR"}
RATED = {"rating": "4.5", "best": "5", "ratings": "120"}
PRICED = {"price": "9.50", "currency": "EUR"}


def question(answer: Any) -> dict[str, Any]:
    return {"type": "Question", "name": "How high?", "acceptedAnswer": {"type": "Answer", "text": answer}}


CASES: list[tuple[list[dict[str, Any]], dict[str, str]]] = [
    ([], {}),
    ([{"type": "Product", "aggregateRating": RATING, "offers": OFFER}], RATED | PRICED),
    ([{"type": "Product", "offers": [OFFER, OFFER]}], PRICED),
    ([{"type": "Product", "offers": {"type": "AggregateOffer", "lowPrice": 9.5, "priceCurrency": "EUR"}}], PRICED),
    # Offers with different prices, and a list of products: no price is the page's.
    ([{"type": "Product", "offers": [OFFER, OFFER | {"price": "10"}]}], {}),
    ([{"type": "Product", "offers": OFFER}, {"type": "Product", "offers": OFFER | {"price": "10"}}], {}),
    # A price without a currency, a rating without a number of ratings, or above the best one.
    ([{"type": "Product", "offers": {"type": "Offer", "price": "9.5"}}], {}),
    ([{"type": "Product", "aggregateRating": {"type": "AggregateRating", "ratingValue": "5"}}], {}),
    ([{"type": "Product", "aggregateRating": RATING | {"ratingValue": "6"}}], {}),
    ([RATING | {"ratingValue": 8, "bestRating": 10}], {"rating": "8", "best": "10", "ratings": "120"}),
    ([{"type": "Recipe", "totalTime": "PT1H30M"}], {"seconds": "5400"}),
    ([{"type": "VideoObject", "duration": "PT0M42.5S"}], {"seconds": "42"}),
    ([{"type": "VideoObject", "duration": "42 minutes"}], {}),
    ([{"type": "VideoObject", "duration": "P"}], {}),
    ([{"type": "QAPage", "mainEntity": question("8,849 m")}], {"answer": "8,849 m"}),
    ([question("x" * 1_000)], {"answer": "x" * MAX_ANSWER_CHARS}),
    # Several questions: the page answers none of them only.
    ([question("One."), question("Two.")], {}),
    ([{"type": "FAQPage", "mainEntity": [question("One.")]}], {}),
    # Values of strangers.
    ([{"type": "Product", "aggregateRating": "4.5", "offers": ["free", None]}], {}),
    ([{"type": "Product", "aggregateRating": RATING | {"ratingValue": "nan"}}], {}),
    ([{"type": "Product", "aggregateRating": RATING | {"ratingValue": "1" * 400}}], {}),
    ([{"type": "Question", "acceptedAnswer": {"text": [[], {}]}}], {}),
]


@pytest.mark.parametrize(("items", "facts"), CASES)
def test_facts_are_read_from_structured_data(items: list[dict[str, Any]], facts: dict[str, str]) -> None:
    assert typed_facts(items) == facts
