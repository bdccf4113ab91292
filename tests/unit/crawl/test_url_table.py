"""The table of URLs in memory: a fixed size, the last used URLs, and no URL taken for another one."""

import random
from uuid import UUID

from streams.crawl.frontier.url_table import NUMBERS, WAYS, UrlTable

ROW = [UUID(int=number * 64) for number in range(1, WAYS + 2)]
"""Pages of one row, one more than it has places."""


def test_a_number_is_found_and_replaced() -> None:
    table = UrlTable(64)
    assert table.get("c", ROW[0]) is None
    for number in (*range(NUMBERS), 0):
        table.put("c", ROW[0], number)
        assert table.get("c", ROW[0]) == number
    assert table.get("d", ROW[0]) is None, "another crawl's"
    table.discard("c", ROW[0])
    assert table.get("c", ROW[0]) is None


def test_the_url_of_a_row_that_was_used_longest_ago_is_forgotten() -> None:
    table = UrlTable(64)
    for number, page in enumerate(ROW[:WAYS]):
        table.put("c", page, number)
    assert table.get("c", ROW[0]) == 0, "so the second one is the oldest"
    table.put("c", ROW[WAYS], 5)
    assert [table.get("c", page) for page in ROW] == [0, None, 2, 3, 5]
    table.discard("c", ROW[2])
    assert [table.get("c", page) for page in ROW] == [0, None, None, 3, 5]


def test_an_empty_place_is_no_url() -> None:
    assert UrlTable(64).get("", UUID(int=0)) is None


def test_it_agrees_with_a_plain_dictionary_about_all_that_it_knows() -> None:
    rng, table, known = random.Random(1), UrlTable(4_096), dict[tuple[str, UUID], int]()
    pages = [UUID(int=rng.getrandbits(128)) for _ in range(6_000)]
    for _ in range(50_000):
        key = rng.choice("ab"), rng.choice(pages)
        if (found := table.get(*key)) is not None:
            assert found == known[key]
        if rng.random() < 0.1:
            table.discard(*key)
            known.pop(key, None)
        elif rng.random() < 0.5:
            known[key] = rng.randrange(NUMBERS)
            table.put(*key, known[key])
    held = sum(table.get(*key) is not None for key in known)
    assert 3_500 < held <= 4_096, "it uses its places"
    table.clear()
    assert not any(table.get(*key) is not None for key in known)
