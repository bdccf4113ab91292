"""Cursors: what is written is read again, and everything else is refused in bounded time."""

import base64
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import InvalidQuery
from streams.search.cursor import LIFETIME_SECONDS, MAX_CHARS, MAX_HASHES, Cursor, decode, digest_search, encode
from streams.search.trace import ORDERING_PARTS, OrderingPart

SEARCH = digest_search("log", 10)
MOST = 490
NOW = datetime(2026, 3, 4, tzinfo=UTC)
PAGES = [uuid5(UUID(int=0), str(number)) for number in range(1_200)]
START = Cursor(b"saltsalt", SEARCH)
SECOND = replace(START.add_shown(PAGES[:10], PAGES[10:12]), page=2, made=int(NOW.timestamp()))
TOKEN = encode(SECOND)


def read(token: str) -> Cursor:
    return decode(token, SEARCH, MOST)


def changed(position: int, value: int) -> str:
    """The token with another byte at this position. Its checksum is that of the token as it was."""
    content = bytearray(base64.urlsafe_b64decode(TOKEN + "=" * (-len(TOKEN) % 4)))
    content[position] = value
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


@given(
    st.integers(1, MOST),
    st.integers(0, 700),
    st.integers(0, 255),
    st.frozensets(st.sampled_from(sorted(ORDERING_PARTS))),
    st.binary(min_size=8, max_size=8),
)
def test_a_cursor_is_read_as_it_was_written(
    results: int, copies: int, depth: int, left_out: frozenset[OrderingPart], salt: bytes
) -> None:
    written = replace(
        Cursor(salt, SEARCH).add_shown(PAGES[:results], PAGES[results : results + copies]),
        page=2,
        depth=depth,
        left_out=left_out,
    )
    assert read(encode(written)) == written
    assert written.results == results
    assert len(encode(written)) <= MAX_CHARS


def test_results_are_kept_when_there_is_no_room_for_their_copies() -> None:
    cursor = START
    for first in range(0, 500, 10):
        cursor = cursor.add_shown(PAGES[first : first + 10], PAGES[500 + first : 510 + first])
    assert len(cursor.shown) == MAX_HASHES
    assert {cursor.hash_of(page) for page in PAGES[:500]} <= set(cursor.shown)
    assert len(encode(cursor)) == MAX_CHARS < 8_192 - 2_000


def test_equal_pages_have_other_hashes_in_the_cursors_of_other_searches() -> None:
    assert START.hash_of(PAGES[0]) != replace(START, salt=b"pepperpe").hash_of(PAGES[0])


HOSTILE = {
    "one character": "A",
    "no base64": TOKEN[:-1] + "!",
    "spaces": TOKEN[:20] + " " + TOKEN[20:],
    "padding inside": TOKEN[:20] + "==" + TOKEN[20:],
    "not ASCII": "ä" * 80,
    "a lone surrogate": "\ud800" * 80,
    "a null byte": TOKEN + "\x00",
    "the end is cut off": TOKEN[:-4],
    "only the head": TOKEN[:36],
    "twice": TOKEN + TOKEN,
    "another byte in the hashes": changed(40, 1),
    "another version": changed(0, 2),
    "zeros": "A" * 96,
    "too long": "A" * (MAX_CHARS + 1),
    "very long": "A" * 10_000_000,
    # The checksum of these is right.
    "the first page": encode(replace(SECOND, page=1)),
    "page 0": encode(replace(SECOND, page=0)),
    "more pages than results": encode(replace(SECOND, page=12)),
    "more results than hashes": encode(replace(SECOND, results=13)),
    "more results than there are": encode(
        replace(START.add_shown(PAGES[: MOST + 1], ()), page=2)
    ),
    "no results": encode(replace(SECOND, results=0)),
    "half a hash": encode(replace(SECOND, shown=(*SECOND.shown, b"abc"))),
    "another query": encode(replace(SECOND, search=digest_search("logs", 10))),
    "another number of results on a page": encode(replace(SECOND, search=digest_search("log", 20))),
}  # fmt: skip


@pytest.mark.parametrize("token", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_no_answer_had_is_refused_with_what_to_do(token: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        read(token)
    assert refused.value.parameter == "cursor"
    assert "Search again" in refused.value.hint
    assert len(refused.value.detail) < 200


@given(st.text(max_size=400))
def test_any_text_is_a_cursor_or_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        read(text)


def test_every_single_changed_character_is_noticed() -> None:
    chance = random.Random(7)
    for position in range(len(TOKEN) - 1):
        other = chance.choice([each for each in "AZaz09-_" if each != TOKEN[position]])
        with pytest.raises(InvalidQuery):
            read(TOKEN[:position] + other + TOKEN[position + 1 :])


@pytest.mark.parametrize(
    ("seconds", "is_valid"), [(0, True), (LIFETIME_SECONDS, True), (LIFETIME_SECONDS + 1, False), (-90_000, False)]
)
def test_a_cursor_expires(seconds: int, is_valid: bool) -> None:
    now = NOW + timedelta(seconds=seconds)
    if is_valid:
        SECOND.check_age(now)
        return
    with pytest.raises(InvalidQuery, match="expired"):
        SECOND.check_age(now)
