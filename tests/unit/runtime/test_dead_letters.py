"""Dead letters page by page, by filters, and without those that were replayed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.errors import UsageError
from streams.runtime.dead_letters import REPLAYED_AT, DeadLetters, Selection, find_dead_letters
from streams.runtime.records import FailureInfo, Incoming
from streams.settings import Settings
from streams.topology import stage

START = datetime(2026, 1, 2, tzinfo=UTC)
Topics = dict[str, list[Incoming]]


def letter(offset: int, minute: int = 0, *, stage: str = "embed", error: str = "MissingBlob") -> Incoming:
    """A record of a dead-letter topic."""
    failure = FailureInfo(
        "pages.chunked", 0, offset, stage, 3, error, f"no blob {offset}", START + timedelta(minutes=minute)
    )
    return Incoming(f"{stage}.dead", 0, offset, b"key", b"{}", failure.headers([]))


def replayed(offset: int, minute: int) -> Incoming:
    """The mark of a letter that was replayed."""
    at = (START + timedelta(minutes=minute)).isoformat().encode()
    return Incoming("embed.dead", 1, offset, f"embed/pages.chunked/0/{offset}".encode(), b"{}", [(REPLAYED_AT, at)])


def letters(*records: Incoming, selection: Selection | None = None) -> DeadLetters:
    def read(_: Settings, topic: str) -> Iterator[Incoming]:
        return iter([record for record in records if record.topic == topic])

    return DeadLetters(Settings(), selection or Selection(), read)


def offsets(found: object) -> list[int]:
    return [dead.failure.offset for dead in found]  # type: ignore[attr-defined]  # all have failed


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=40), st.integers(1, 7))
def test_pages_hold_every_letter_once_oldest_first(places: list[tuple[int, int]], limit: int) -> None:
    made = letters(*(letter(offset, minute) for offset, minute in places))
    seen, after = [], ""
    while page := made.page(limit, after):
        assert len(page) <= limit
        seen += page
        after = page[-1].failure.id
    last: dict[int, int] = {}
    for offset, minute in places:
        last[offset] = max(minute, last.get(offset, 0))
    assert sorted(offsets(seen)) == sorted(last)
    assert [dead.failure.failed_at for dead in seen] == sorted(dead.failure.failed_at for dead in seen)
    assert sorted(offsets(made)) == sorted(last)
    assert len(made) == len(last)


@pytest.mark.parametrize(
    ("records", "waiting"),
    [
        pytest.param([letter(1), replayed(1, 5)], [], id="replayed"),
        pytest.param([replayed(1, 5), letter(1)], [], id="the mark was read first"),
        pytest.param([letter(1), replayed(1, 5), letter(1, 9)], [1], id="failed again"),
        pytest.param([letter(1), letter(2), replayed(2, 5)], [1], id="another one"),
        pytest.param([letter(1), letter(1, 2)], [1], id="delivered twice"),
    ],
)
def test_a_letter_waits_until_it_was_replayed_after_its_last_failure(
    records: list[Incoming], waiting: list[int]
) -> None:
    assert offsets(letters(*records).page(9)) == offsets(letters(*records)) == waiting


RECORDS = (
    letter(1, 1),
    letter(2, 2, error="InvalidEvent"),
    letter(3, 3, stage="index"),
    letter(4, 4),
)


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        pytest.param(Selection(), [1, 2, 3, 4], id="all"),
        pytest.param(Selection((stage("embed"),)), [1, 2, 4], id="stage"),
        pytest.param(Selection(error="missingblob"), [1, 3, 4], id="type of the error, in any case"),
        pytest.param(Selection(error="blob 4"), [4], id="text of the error"),
        pytest.param(Selection(since=START + timedelta(minutes=2)), [2, 3, 4], id="since"),
        pytest.param(Selection(error="Invalid", since=START + timedelta(days=1)), [], id="both"),
    ],
)
def test_a_selection_has_the_letters_that_meet_all_conditions(selection: Selection, selected: list[int]) -> None:
    assert offsets(letters(*RECORDS, selection=selection).page(9)) == selected


def test_kinds_count_letters_by_stage_and_error() -> None:
    assert letters(*RECORDS).kinds() == {
        ("embed", "MissingBlob"): 2,
        ("embed", "InvalidEvent"): 1,
        ("index", "MissingBlob"): 1,
    }


def test_a_page_behind_a_letter_that_is_gone_is_refused() -> None:
    with pytest.raises(UsageError, match=r"embed/pages\.chunked/0/77"):
        letters(*RECORDS).page(9, "embed/pages.chunked/0/77")


def test_letters_are_found_by_their_ids_in_the_topics_of_their_stages_alone() -> None:
    read_topics = []

    def read(_: Settings, topic: str) -> Iterator[Incoming]:
        read_topics.append(topic)
        return iter([record for record in RECORDS if record.topic == topic])

    found = find_dead_letters(Settings(), frozenset({"embed/pages.chunked/0/4"}), read)
    assert offsets(found) == [4]
    assert set(read_topics) == {"embed.dead"}
    with pytest.raises(UsageError, match=r"no dead letter 'embed/pages\.chunked/0/9'"):
        find_dead_letters(Settings(), frozenset({"embed/pages.chunked/0/4", "embed/pages.chunked/0/9"}), read)
