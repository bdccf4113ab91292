"""One search has one budget of work: the most expensive requests over an index that was written to make them expensive.

The indexes hold what a stranger can publish: statements as long as the pipeline lets through, the same words and titles
everywhere, near-copies on one host and on many, deep contexts, the marks and scripts of Unicode that cost most, texts
with as many different words and trigrams as fit, and pages with hundreds of statements. They answer whatever is asked
with these statements: the search of a real index has its own tests.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from itertools import count, cycle, islice, product
from typing import Any
from uuid import UUID, uuid5

import httpx2
import pytest

from streams.search.paging import STATEMENTS_PER_RESULT
from streams.search.request import MAX_DEPTH
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import Candidates, Hit
from tests.sizes import FULL
from tests.stages.gateway_fakes import client, gateway, payload_of, statement

DEADLINE_SECONDS = 0.3
MARGIN_SECONDS = 4.0
"""Maximum time behind the deadline until a search is answered or refused, on a machine that has other work as well."""
STANDSTILL_SECONDS = 2.0
"""Maximum time in which the event loop may answer nobody, likewise. On a quiet machine it is .05."""
STATEMENTS = 2 * STATEMENTS_PER_RESULT * MAX_DEPTH
"""Statements that fill both lists of the deepest search."""
LONGEST = 8_000
"""More characters than the longest statement of the pipeline has."""
NAMES = UUID("9d1c2f60-6c6e-4a53-9f0d-0f5a1ab1c001")
MARKED = "".join(f"{char}\u0301\u0323\u0330" for char in "abcdefgh")
FEW_TRIGRAMS = (
    "the " * (LONGEST // 4),
    "the the of of and and " * (LONGEST // 22),
    "a" * LONGEST,
    ("write-ahead log " * (LONGEST // 16)),
    MARKED * (LONGEST // len(MARKED)),
    "\ufdfa" * (LONGEST // 18),
    "日本語の索引" * (LONGEST // 6),
    "👩‍👩‍👧‍👦" * (LONGEST // 7),
    "_" * LONGEST,
    "1.1." * (LONGEST // 4),
)


LETTERS = random.Random(33)
POOL = "".join(LETTERS.choices("abcdefghijklmnopqrstuvwxyz", k=200_000))
"""Letters without a rule. A text from another place of it has other words and other trigrams."""
ALIKE = " ".join(POOL[start : start + 7] for start in range(0, LONGEST, 8))


@cache
def random_words(number: int) -> str:
    """A text of the query's words and of words that no other text has: each text has thousands of trigrams."""
    start = number * 131 % 150_000
    words = (POOL[at : at + 3 + at % 8] for at in range(start, start + LONGEST, 7))
    return " ".join(word if place % 9 else "the log of" for place, word in enumerate(words))


def long_tokens(number: int) -> str:
    """A few tokens of hundreds of letters, identifiers among them."""
    start = number * 131 % 150_000
    return (
        "_".join(POOL[at : at + 400] for at in range(start, start + LONGEST, 400)) + f" SQLITE_BUSY_{number % 100} the"
    )


TEXTS_OF: Mapping[str, Callable[[int], str]] = {
    "few trigrams": lambda number: f"{FEW_TRIGRAMS[number % len(FEW_TRIGRAMS)]}{number % 97}",
    "random words": random_words,
    "long tokens": long_tokens,
    # Each differs from the others in a part of its beginning, which is what is compared: some are copies, some are not.
    "near-duplicates": lambda number: f"{random_words(number)[: number % 40 * 20]} {ALIKE} the log of the log",
    "statements": random_words,
}
"""The text of each statement of an index, by the statement's number."""
STATEMENTS_OF_PAGE = {"statements": 700}


def hostile_statements(kind: str) -> Iterator[dict[str, Any]]:
    """Statements without end, of as many pages, or of a few pages with hundreds of them."""
    for number in count():
        page = number // STATEMENTS_OF_PAGE.get(kind, 1)
        url = f"https://{'one' if page % 2 else f'h{page}'}.example/{'a/' * 50}{page}.html?{'b' * 500}"
        text, context = TEXTS_OF[kind](number), ["The log " * 50] * 40
        made = statement(url, text, title="The log of the log " * 40, context=context)
        yield made | {"published": "2024-05-01", "page_type": "Article", "sites": ["example"]}


class HostileIndex:
    """An index whose lists are full of hostile statements, whatever is asked."""

    def __init__(self, stores: Stores, kind: str) -> None:
        self._index, self.kind = stores.vectors, kind
        self._hits = [
            Hit(uuid5(NAMES, str(number)), 1.0 - number / STATEMENTS, payload_of(row))
            for number, row in enumerate(islice(hostile_statements(kind), STATEMENTS))
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def candidates(self, *, limit: int, **query: Any) -> Candidates:
        await asyncio.sleep(0.01)
        assert 2 * limit <= STATEMENTS, "both lists are full"
        return Candidates(tuple(self._hits[:limit]), tuple(self._hits[limit : 2 * limit]), limit)


TEXTS = {
    "stop words": "the of and " * 150,
    "one word": "the",
    "phrases": " ".join(['"the of"', '"the the"', '"log of the log"', '"1.1"', '"日本語"'] * 6),
    "long phrase": '"' + "the " * 400 + '"',
    "excluded": "the " + " ".join(f"-the{'x' * n}" for n in range(1, 31)),
    "titles": " ".join(f'intitle:"the log of{" the log of" * n}"' for n in range(15)),
    "addresses": " ".join(f"inurl:{'a/' * n}b" for n in range(1, 31)),
    "sites": " ".join(f"site:example/{'a/' * n}" for n in range(1, 31)),
    "marks": MARKED * 80,
    "all operators": '"the the" -nothing site:example -site:no.example lang:en filetype:html pagetype:article '
    "after:2000 before:2030 intitle:log inurl:html the of",
    "identifiers": " ".join(f"SQLITE_BUSY_{n}" for n in range(100)),
    "question": "what is the log of the log",
}
DEPTHS: list[dict[str, Any]] = [
    {"page": 1, "per_page": 50, "explain": "true"},
    {"page": MAX_DEPTH // 50, "per_page": 50},
    {"page": 1, "sort": "date", "include": [f"d{n}.example" for n in range(31)] + ["example"]},
    {"page": 50, "exclude": [f"d{n}.example" for n in range(32)]},
    {"page": 2, "language": "en", "host": "one.example"},
]


def expensive(kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the texts at each depth. By day each text is asked of one index at one depth: a request costs its whole
    deadline."""
    if FULL:
        return list(product(TEXTS, DEPTHS))
    return list(zip(TEXTS, cycle(DEPTHS), strict=False))[BY_DAY.index(kind) :: len(BY_DAY)]


@asynccontextmanager
async def heartbeat(web: httpx2.AsyncClient) -> Any:
    """Ask for the gateway's health again and again. Gives the longest time that an answer took."""
    longest, ends = [0.0], asyncio.Event()

    async def beat() -> None:
        while not ends.is_set():
            started = time.monotonic()
            assert (await web.get("/healthz")).status_code == 200
            longest[0] = max(longest[0], time.monotonic() - started)
            await asyncio.sleep(0.01)

    beating = asyncio.create_task(beat())
    try:
        yield longest
    finally:
        ends.set()
        await beating


BY_DAY = ("near-duplicates", "statements", "long tokens")
"""The kinds of an index whose requests have cost most. All others are tried at night."""


@pytest.fixture(
    scope="module",
    params=[kind if kind in BY_DAY else pytest.param(kind, marks=pytest.mark.night) for kind in TEXTS_OF],
)
def hostile(request: pytest.FixtureRequest) -> Stores:
    stores = memory_stores()
    index: Any = HostileIndex(stores, request.param)
    return replace(stores, vectors=index)


async def test_the_most_expensive_requests_end_at_the_deadline_while_others_are_answered(hostile: Stores) -> None:
    faults = []
    async with client(gateway(hostile, deadline_seconds=DEADLINE_SECONDS)) as web:
        await web.get("/api/v1/search", params={"q": "warm up"})
        index: Any = hostile.vectors
        for name, parameters in expensive(index.kind):
            request = {"q": TEXTS[name][:2_000], **parameters}
            # A machine with other work may stand still by itself, once. A search that is too expensive always does.
            if await find_fault(web, request) and (fault := await find_fault(web, request)):
                faults.append((name, parameters, fault))
    assert not faults


@pytest.mark.parametrize(
    "name",
    ["phrases", "stop words", *(pytest.param(name, marks=pytest.mark.night) for name in ("question", "one word"))],
)
async def test_the_most_expensive_requests_are_answered_where_there_is_time(hostile: Stores, name: str) -> None:
    """So what is refused at a deadline is refused for its time alone."""
    async with client(gateway(hostile, deadline_seconds=120)) as web:
        answer = await web.get("/api/v1/search", params={"q": TEXTS[name][:2_000], "per_page": 50})
    assert answer.status_code == 200, answer.text[:500]
    assert answer.json()["results"]


async def find_fault(web: httpx2.AsyncClient, request: dict[str, Any]) -> str:
    """Ask, and return a description of the fault: a late answer, or a gateway that kept others waiting meanwhile. Empty
    without a fault."""
    async with heartbeat(web) as longest:
        started = time.monotonic()
        answer = await web.get("/api/v1/search", params=request)
        seconds = time.monotonic() - started
    assert answer.status_code in (200, 503), (request, answer.text[:500])
    if seconds > DEADLINE_SECONDS + MARGIN_SECONDS:
        return f"answered after {seconds:.2f} s"
    return f"others waited {longest[0]:.2f} s" if longest[0] > STANDSTILL_SECONDS else ""
