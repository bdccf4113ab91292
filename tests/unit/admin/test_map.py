"""The map of the index: places, labels of regions, and the window of it that is shown."""

import re
import zlib
from dataclasses import replace
from importlib.resources import files
from uuid import UUID

import numpy as np
import pytest

from streams.admin.map_view import EDGE, MAX_ZOOM, SIZE, Window, parse_window, view_map
from streams.errors import UsageError
from streams.maintenance.mapping import (
    MIN_PAGES,
    Gap,
    IndexMap,
    Label,
    MappedPage,
    label_regions,
    lay_out,
    mean_vectors,
    page_words,
    place_queries,
)


def page(number: int, x: float, y: float, *words: str, host: str = "a.example") -> MappedPage:
    url = f"https://{host}/{number}"
    return MappedPage(str(UUID(int=number)), url, f"Page {number}", host, ("common", *words), x, y)


PAGES = (
    *(page(n, 0.1, 0.1, "river", "water") for n in range(10)),
    *(page(n, 0.9, 0.9, "index", "query", host="b.example") for n in range(10, 30)),
    page(30, 0.5, 0.5, "alone"),
)
GAPS = (Gap("how to frobnicate", "en", 12.0, 0.3, 0.4),)
MAP = IndexMap("2026-11-24T12:00:00+00:00", "statements_1", PAGES, label_regions(PAGES), GAPS)


def test_regions_are_labelled_by_words_that_others_do_not_have() -> None:
    assert [(label.text.split()[:2], label.pages) for label in MAP.labels] == [
        (["river", "water"], 10),
        (["index", "query"], 20),
    ]


def test_a_map_is_read_as_it_was_written() -> None:
    assert IndexMap.unpack(MAP.pack()) == MAP
    for text in ("", "{}", "[]", '{"made_at": 1, "collection": "", "pages": [1], "labels": []}'):
        with pytest.raises(ValueError, match=r"map|Expecting"):
            IndexMap.unpack(zlib.compress(text.encode()))
    with pytest.raises(ValueError, match="map"):
        IndexMap.unpack(b"no map")


def test_a_query_stands_among_the_pages_that_are_nearest_to_it() -> None:
    pages = np.asarray([[1, 0]] * 6 + [[0, 1]] * 6, np.float32)
    places = np.asarray([[0.1, 0.2]] * 6 + [[0.8, 0.9]] * 6, np.float32)
    queries = np.asarray([[1, 0], [0, 1], [-1, 0]], np.float32)
    found = place_queries(queries, pages, places)
    assert found[:2].tolist() == pytest.approx(np.asarray([[0.1, 0.2], [0.8, 0.9]]))
    assert np.isfinite(found).all(), "also of a query that is far from all pages"


def test_labels_at_the_sides_are_not_cut_off_and_gaps_are_in_the_window() -> None:
    left, right = Label("river water", 0.0, 0.0, 9), Label("index query", 1.0, 1.0, 9)
    made = IndexMap("", "", PAGES, (left, right), (Gap("frobnicate", "en", 7.0, 0.9, 0.9),))
    view = view_map(made, Window())
    assert [(anchor, y) for _, _, y, anchor in view.labels] == [("start", EDGE), ("end", SIZE - EDGE)]
    assert [gap.query for gap, _, _ in view.gaps] == ["frobnicate"]
    assert view_map(made, Window(0.125, 0.125, 4)).gaps == ()


def test_the_whole_map_and_a_part_of_it() -> None:
    whole = view_map(MAP, Window())
    assert (whole.inside, len(whole.labels)) == (31, 2)
    assert whole.hosts == (("b.example", 1, 20), ("a.example", 2, 11))
    part = view_map(MAP, Window(0.125, 0.125, 4))
    assert (part.inside, len(part.labels)) == (10, 1)
    assert all(0 <= dot.x <= SIZE and 0 <= dot.y <= SIZE for dot in part.dots)


def test_pages_with_all_words_of_the_query_are_marked_and_listed() -> None:
    view = view_map(MAP, Window(query="River WATER"))
    assert len(view.found) == 10
    assert [dot.is_found for dot in view.dots] == [True] * 10 + [False] * 21
    assert view_map(MAP, Window(query="river query")).found == ()


@pytest.mark.parametrize(
    ("parameters", "window"),
    [
        ({}, Window()),
        ({"x": "0.9", "y": "0.1", "zoom": "2", "q": "a"}, Window(0.75, 0.25, 2, "a")),  # stays inside of the map
        ({"zoom": "1e9"}, Window(zoom=MAX_ZOOM)),
        ({"x": "nan", "zoom": "inf"}, Window()),
        ({"x": "<script>"}, Window()),
    ],
)
def test_the_window_of_a_request(parameters: dict[str, str], window: Window) -> None:
    assert parse_window(parameters) == window


def test_words_of_a_page() -> None:
    assert page_words(["The River flows to the SEA", "river 1234 rivers"]) == ("river", "flows", "rivers")


def test_a_page_is_at_the_mean_of_its_statements() -> None:
    one, two = UUID(int=1), UUID(int=2)
    means = mean_vectors([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]], [one, one, two], [one, two])
    assert np.allclose(means, [[0.7071, 0.7071], [0.0, 1.0]], atol=1e-4)


def test_a_map_needs_pages() -> None:
    with pytest.raises(UsageError, match=str(MIN_PAGES)):
        lay_out(np.ones((MIN_PAGES - 1, 4), np.float32))


LABELS = [
    # (text, x, y, pages) and whether it is shown in the whole map
    (("image filter dialog", 0.50, 0.50, 50), True),
    (("ebook download", 0.52, 0.51, 4), False),  # it would stand on the larger region's label
    (("python modules", 0.50, 0.54, 16), True),  # a line below
    (("release notes", 0.90, 0.50, 3), True),  # on the same line, and farther than both are wide
]


def test_a_label_that_would_cover_a_larger_one_appears_in_a_closer_window() -> None:
    map_ = replace(MAP, labels=tuple(Label(*given) for given, _ in reversed(LABELS)))
    shown = {label.text for label, *_ in view_map(map_, Window()).labels}
    assert shown == {given[0] for given, is_shown in LABELS if is_shown}
    closer = {label.text for label, *_ in view_map(map_, Window(x=0.52, y=0.505, zoom=16)).labels}
    assert closer == {"image filter dialog", "ebook download"}


def test_the_largest_dot_at_a_border_is_shown_whole() -> None:
    template = (files("streams.gateway") / "templates" / "admin_map.html").read_text()
    left, top, width, height = map(int, re.findall(r'viewBox="(\S+) (\S+) (\S+) (\S+)"', template)[0])
    radius = max(map(int, re.findall(r'r="\{\{ (\d+) if', template)))
    assert max(left, top) <= -radius
    assert min(left + width, top + height) >= SIZE + radius
