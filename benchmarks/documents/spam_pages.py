"""Made spam pages of four kinds, from the words and sentences of real pages: for trials of the quality of pages.

- generated: a chain of words (order 2), as cheap text generators write
- stuffed: lists and sentences of the same few keywords
- doorway: one template for many places and services
- scraped: sentences collected from many pages
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape

KINDS = ("generated", "stuffed", "doorway", "scraped")
_PLACES = ("Aldermoor", "Brackwell", "Castlefield", "Dunmore", "Eastleigh", "Farrington", "Glenbrook", "Hartwick")
_SERVICES = ("plumber", "locksmith", "roof repair", "car insurance", "payday loan", "web design", "moving company")
_CLAIMS = ("cheap", "best", "affordable", "trusted", "top", "local", "emergency", "professional", "licensed")
_ENDINGS = ("", "online", "near me", "deals", "prices")


def spam_pages(sentences: Sequence[str], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Yield spam pages as HTML, each with its kind. `sentences` are real ones."""
    chance = random.Random(seed)
    chain = _chain(sentences)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        match kind:
            case "generated":
                title, blocks = _generated(chain, chance)
            case "stuffed":
                title, blocks = _stuffed(sentences, chance)
            case "doorway":
                title, blocks = _doorway(chance)
            case _:
                title, blocks = _scraped(sentences, chance)
        body = "".join(f"<{tag}>{escape(text)}</{tag}>" for tag, text in blocks)
        yield kind, f"<html lang=en><title>{escape(title)}</title><body><main><h1>{escape(title)}</h1>{body}</main>"


def _chain(sentences: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    chain: dict[tuple[str, str], list[str]] = defaultdict(list)
    for sentence in sentences:
        words = sentence.split()
        for one, two, three in zip(words, words[1:], words[2:], strict=False):
            chain[one, two].append(three)
    return chain


def _generated(chain: dict[tuple[str, str], list[str]], chance: random.Random) -> tuple[str, list[tuple[str, str]]]:
    starts = sorted(chain)
    blocks = []
    for _ in range(chance.randint(6, 14)):
        words = list(chance.choice(starts))
        while len(words) < chance.randint(40, 90):
            follow = chain.get((words[-2], words[-1]))
            words += [chance.choice(follow)] if follow else chance.choice(starts)
        blocks.append(("p", " ".join(words).capitalize() + "."))
    return " ".join(chance.choice(starts)) + " guide", blocks


def _stuffed(sentences: Sequence[str], chance: random.Random) -> tuple[str, list[tuple[str, str]]]:
    topic = chance.choice(_SERVICES)
    keys = [
        f"{chance.choice(_CLAIMS)} {topic} {chance.choice(['', 'online', 'near me', 'deals', 'prices'])}"
        for _ in range(8)
    ]
    blocks = []
    for _ in range(chance.randint(8, 20)):
        if chance.random() < 0.6:
            blocks.append(("p", ", ".join(chance.choice(keys) for _ in range(chance.randint(8, 25)))))
        elif chance.random() < 0.5:
            blocks.append(
                ("p", f"If you look for {chance.choice(keys)}, our {chance.choice(keys)} is the {chance.choice(keys)}.")
            )
        else:
            blocks.append(("p", chance.choice(sentences)))
    return " | ".join(chance.sample(keys, 3)), blocks


def _doorway(chance: random.Random) -> tuple[str, list[tuple[str, str]]]:
    place, service, claim = chance.choice(_PLACES), chance.choice(_SERVICES), chance.choice(_CLAIMS)
    what = f"{claim} {service} in {place}"
    lines = [
        f"Are you searching for a {what}? Our {service} team in {place} is ready for you today.",
        f"We are the {what} that people in {place} trust. Call our {service} in {place} now.",
        f"Every {service} in {place} is different, but our {place} {service} offers the best price in {place}.",
        f"Contact the {what} for a free quote. Our {service} in {place} answers at once.",
        f"Why choose our {service} in {place}? Because the {what} knows {place} and the area of {place}.",
        f"The {what} also serves all places around {place}. {service.capitalize()} {place} is a call away.",
    ]
    blocks = [("p", " ".join(chance.sample(lines, chance.randint(2, 4)))) for _ in range(chance.randint(5, 9))]
    blocks += [("h2", f"{service.capitalize()} {place}: {chance.choice(_CLAIMS)} {service}") for _ in range(2)]
    others = [("li", f"{service} in {other}") for other in _PLACES if other != place]
    return f"{what.title()} - {service.title()} {place}", [*blocks, *others]


def _scraped(sentences: Sequence[str], chance: random.Random) -> tuple[str, list[tuple[str, str]]]:
    blocks = [("p", " ".join(chance.sample(sentences, chance.randint(2, 5)))) for _ in range(chance.randint(6, 15))]
    return " ".join(chance.choice(sentences).split()[:6]), blocks
