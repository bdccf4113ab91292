"""The contract of the suggestions by prefix, in memory and in Cassandra."""

import pytest

from streams.queries.suggestions.page_words import (
    WordSum,
    WordSums,
    choose_words,
    pack_words,
    unpack_words,
)
from streams.queries.suggestions.sums import SHARDS
from streams.seen.suggestions import seen_words
from streams.stores.cassandra import CassandraSuggestions
from streams.stores.cassandra.grouped_writes import MAX_WRITES
from streams.stores.memory import MemorySuggestions
from streams.stores.protocols import NewTitle, PrefixRow, StoredSuggestion, StoredWord, Suggestions
from streams.stores.protocols.queries import MAX_ROWS
from streams.stores.rows import pack_list
from tests.conftest import fresh_name
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def store(request: pytest.FixtureRequest) -> Suggestions:
    if request.param == "memory":
        return MemorySuggestions()
    return CassandraSuggestions(request.getfixturevalue("cassandra_session"))


HOSTS = tuple((number, f"{number}.example") for number in range(3))


def row(prefix: str, text: str, weight: float = 1.0) -> PrefixRow:
    return PrefixRow("en", prefix, StoredSuggestion(text, "en", weight, 2.0, 7))


async def texts(store: Suggestions, prefix: str) -> dict[str, float]:
    return {each.text: each.weight for each in await store.of_prefix("en", prefix)}


async def test_the_newest_row_of_a_text_stays(store: Suggestions) -> None:
    prefix = fresh_name("prefix")
    assert await store.of_prefix("en", prefix) == []
    for _ in range(2):  # a redelivery
        await store.put([row(prefix, "wal mode", 3.0), row(prefix, "日本", 1.0)], 2)
    await store.put([row(prefix, "wal mode", 1.0)], 1)
    assert sorted(await store.of_prefix("en", prefix), key=lambda each: each.weight) == [
        StoredSuggestion("日本", "en", 1.0, 2.0, 7),
        StoredSuggestion("wal mode", "en", 3.0, 2.0, 7),
    ]
    assert await store.of_prefix("de", prefix) == []
    assert [each.text for each in await store.of_prefix("en", prefix, since=2)] == ["wal mode", "日本"]
    assert await store.of_prefix("en", prefix, since=3) == []
    await store.remove([row(prefix, "wal mode")], 3)
    await store.put([row(prefix, "wal mode", 5.0)], 2)  # it comes late
    assert await texts(store, prefix) == {"日本": 1.0}


async def test_a_build_replaces_older_rows_and_leaves_newer_ones(store: Suggestions) -> None:
    prefix, other = fresh_name("prefix"), fresh_name("prefix")
    await store.put([row(prefix, "old"), row(other, "old")], 5)
    await store.put([row(prefix, "newer")], 11)
    await store.replace([row(prefix, "built")], 10)
    assert await texts(store, prefix) == {"built": 1.0, "newer": 1.0}
    assert await texts(store, other) == {"old": 1.0}
    await store.put([row(prefix, "old")], 6)  # a redelivery from before the build
    assert "old" not in await texts(store, prefix)


async def test_a_row_and_a_title_keep_their_sources(store: Suggestions) -> None:
    prefix = fresh_name("prefix")
    own = StoredSuggestion("tide tables", "en", 3.0, 2.0, 7, ("a.example", "b.example"), 2, 1.5)
    await store.put([PrefixRow("en", prefix, own)], 1)
    assert await store.of_prefix("en", prefix) == [own]
    assert await store.of_prefixes("en", [prefix]) == {prefix: [own]}
    await store.add_titles([NewTitle(prefix, own, 1)])
    assert await store.titles(prefix) == [own]


async def test_a_list_is_bounded(store: Suggestions) -> None:
    prefix = fresh_name("prefix")
    await store.put([row(prefix, f"text {number}") for number in range(MAX_ROWS + 5)], 1)
    assert len(await store.of_prefix("en", prefix)) == MAX_ROWS


async def test_the_lists_of_many_prefixes_are_written_and_read_together(store: Suggestions) -> None:
    name = fresh_name("prefix")
    prefixes = [f"{name}{number}" for number in range(2 * MAX_WRITES + 5)]
    rows = [row(prefix, f"text of {prefix}") for prefix in prefixes]
    for _ in range(2):  # a redelivery
        await store.put([*rows, *(row(prefixes[0], f"text {number:02d}") for number in range(MAX_ROWS))], 1)
    await store.put([row(prefix, f"text of {prefix}", 9.0) for prefix in prefixes], 0)  # it comes late
    found = await store.of_prefixes("en", [*prefixes[:12], f"{name} none"])
    assert len(found.pop(prefixes[0])) == MAX_ROWS
    expected = {prefix: [row(prefix, f"text of {prefix}").suggestion] for prefix in prefixes[1:12]}
    assert found == {**expected, f"{name} none": []}
    assert await store.of_prefixes("de", prefixes[:2]) == {prefix: [] for prefix in prefixes[:2]}
    await store.remove(rows[1:], 2)
    assert [each for each in prefixes[1:] if await store.of_prefix("en", each)] == []


def title(key: str, text: str, at: int, language: str = "en") -> NewTitle:
    return NewTitle(key, StoredSuggestion(text, language, 1.5), at)


async def test_new_titles_are_found_by_their_beginning_until_a_build_or_a_removal(store: Suggestions) -> None:
    name = fresh_name("title")
    for _ in range(2):  # a redelivery
        await store.add_titles(
            [
                title(f"{name} b", "B", 2),
                title(f"{name} a", "Á", 1),
                title(f"{name} a", "Á", 5, "hu"),
                title("x", "X", 1),
            ]
        )

    async def found(beginning: str) -> list[tuple[str, str]]:
        return [(each.text, each.language) for each in await store.titles(beginning)]

    assert await found(name) == [("Á", "en"), ("Á", "hu"), ("B", "en")], "sorted by key"
    assert (await found(f"{name} b"), await found(f"{name} c"), await found("")) == ([("B", "en")], [], [])
    await store.remove_title(title(f"{name} b", "B", 3))
    await store.remove_title(title(f"{name} a", "Á", 4, "hu"))  # it was stored again since
    await store.add_titles([title(f"{name} b", "B", 2)])  # it comes late
    assert await found(name) == [("Á", "en"), ("Á", "hu")]
    await store.drop_titles(5)
    await store.add_titles([title(f"{name} a", "Á", 1)])
    assert await found(name) == [("Á", "hu")]
    await store.add_titles([title(f"{name} {number:03d}", "many", 6) for number in range(MAX_ROWS)])
    assert len(await found(name)) == MAX_ROWS


async def test_parts_of_a_build_are_kept_until_they_are_dropped(store: Suggestions) -> None:
    build = fresh_name("build")
    await store.put_part(build, "sums", 3, "b", b"2")
    await store.put_part(build, "sums", 3, "a", b"1")
    await store.put_part(build, "list", 3, "", b"3")
    assert await store.parts(build, "sums", 3) == [b"1", b"2"]
    await store.drop_parts(build, "sums", 3)
    assert (await store.parts(build, "sums", 3), await store.parts(build, "list", 3)) == ([], [b"3"])


async def test_the_words_of_a_build_are_kept_and_dropped_beside_its_suggestions(store: Suggestions) -> None:
    """The tasks of a build share only the store: what they hand on comes back whole, and each kind by itself."""
    build, sums = fresh_name("build"), {"kubeflow": WordSum(7, HOSTS), "größe": WordSum(1, HOSTS[:1])}
    for part in ("0.0", "1.0"):
        for _ in range(2):  # a task may run twice
            for shard, value in pack_words(sums).items():
                await store.put_part(build, "word sums", shard, part, value)
    found: WordSums = {}
    for shard in range(SHARDS):
        found |= unpack_words(await store.parts(build, "word sums", shard))
    assert found == {word: WordSum(2 * own.pages, own.sites) for word, own in sums.items()}
    await store.put_part(build, "words", 0, "", pack_list(choose_words(found, 3, lambda _: False)))
    await store.put_part(build, "list", 0, "", b"1")
    await store.drop_parts(build, "word sums", 0)
    (word,) = seen_words(await store.parts(build, "words", 0), None)
    assert word == StoredWord("kubeflow", 14, tuple(host for _, host in HOSTS), 3)
    await store.drop_parts(build, "words", 0)
    assert (await store.parts(build, "words", 0), await store.parts(build, "list", 0)) == ([], [b"1"])


async def test_a_purge_leaves_nothing(store: Suggestions) -> None:
    prefix, build = fresh_name("prefix"), fresh_name("build")
    await store.put([row(prefix, "text")], 1)
    await store.add_titles([title(prefix, "Text", 1)])
    await store.put_part(build, "list", 0, "", b"1")
    await store.purge()
    assert (await store.titles(prefix), await texts(store, prefix), await store.parts(build, "list", 0)) == ([], {}, [])
