"""The quality of a page with the parts of all stages, and what each of them is about."""

from typing import Any
from uuid import uuid4

import pytest

from schemas.ids import page_id
from streams.dedup.first_sight import copied_share
from streams.statements.readability import is_readable, readable_share
from streams.statements.statement import Statement
from streams.stores.page_quality import FULL_AGE_DAYS, NEW, page_quality
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Fingerprint

DAY = 86_400 * 1_000_000
GOOD = {"score": 0.8, "links": 0.8}


def record(copied: Any = 0.0, days: float = 60, readable: Any = 1.0, quality: Any = GOOD) -> PageRecord:
    rows = {
        "normalized": {"quality": quality, "generation": 100 * DAY},
        "deduplicated": {"copied": copied, "first_seen": round((100 - days) * DAY)},
        "indexed": {"readable": readable},
    }
    return PageRecord(rows)


@pytest.mark.parametrize(
    ("page", "score"),
    [
        (record(), 0.8),
        (record(copied=0.5), 0.8),
        (record(copied=0.75), 0.4),  # half of what is above .5
        (record(copied=1.0), 0.08),  # no part decides alone
        (record(readable=0.0), 0.4),
        (record(days=0), round(0.8 * NEW, 3)),
        (record(days=FULL_AGE_DAYS / 2), 0.78),
        (record(copied=0.75, readable=0.0), 0.2),
        (PageRecord({"normalized": {"quality": GOOD}}), 0.8),  # the other stages have not seen it
        (record(quality={}), None),  # of an earlier release
    ],
)
def test_quality_is_the_product_of_its_parts(page: PageRecord, score: float | None) -> None:
    found = page_quality(page)
    assert found.get("score") == score
    assert all(0 <= part <= 1 for part in found.values())
    assert bool(found) == (score is not None)


def fingerprint(url: str, at: int, sketch: bytes, words: int = 100) -> Fingerprint:
    return Fingerprint(page_id(url), "", 0, url, at, first_seen=at, words=words, sketch=sketch)


TEXT, SIMILAR = bytes(128), bytes(96) + bytes([1]) * 32
OLDER = fingerprint("https://original.example/1", 1, SIMILAR)


@pytest.mark.parametrize(
    ("page", "other", "copied"),
    [
        (fingerprint("https://copy.example/1", 2, TEXT), OLDER, 0.75),
        (fingerprint("https://copy.example/1", 0, TEXT), OLDER, 0.0),  # it is the older one
        (fingerprint("https://www.original.example/2", 2, TEXT), OLDER, 0.0),  # one owner
        (fingerprint("https://copy.example/1", 2, TEXT, words=20), OLDER, 0.0),  # too short to say
    ],
)
def test_a_copy_is_similar_to_an_older_page_of_another_domain(
    page: Fingerprint, other: Fingerprint, copied: float
) -> None:
    assert copied_share(page, [page, other]) == pytest.approx(copied, abs=0.01)


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("The tide rises twice on each day.", True),
        ("Die Flut steigt an jedem Tag zweimal.", True),
        (
            "潮汐は月と太陽の引力によって起こる海面の昇降であり、ほとんどの海岸では一日に二回ずつ満潮と干潮が訪れ、場所によって違う。",
            True,
        ),
        ("cheap insurance, best insurance, insurance online, insurance near me, top insurance", False),
        ("CLICK HERE NOW AND GET IT ALL.", False),
        ("a = 17, b = 22, c = 94, 33, 12, 45, 1.", False),
        ("See also", False),
        ("", False),
        ("word " * 200 + ".", False),
    ],
)
def test_a_sentence_can_be_read(text: str, readable: bool) -> None:
    assert is_readable(text) is readable


def test_the_share_is_of_the_characters_of_sentences_and_items() -> None:
    good, bad = "The tide rises twice on each day.", "cheap insurance near me, best insurance"
    texts = [good, good, good, bad, bad]
    found = readable_share(Statement(uuid4(), n, text) for n, text in enumerate(texts))
    assert found == pytest.approx(3 * len(good) / (3 * len(good) + 2 * len(bad)))
    assert readable_share([Statement(uuid4(), 0, good)]) is None
    assert readable_share(Statement(uuid4(), n, "x = 1", kind="code") for n in range(9)) is None
