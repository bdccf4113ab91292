"""Parts of a path in any order: which sites have some, and that other paths stay."""

import random
from itertools import permutations, product

import pytest

from streams.crawl.frontier.scheduling.path_orders import MAX_SETS, SAMPLED_SETS, WORD_PAGES
from streams.crawl.frontier.scheduling.traps import Traps
from tests.sizes import FULL
from tests.unit.crawl.test_traps import TODAY, link, take

MOST, SETS = (6, 246) if FULL else (5, 218)
"""The most values of a path, and the number of sets of up to so many. By day there are a third of the paths."""
FACETS = ("red", "blue", "m", "l", "cotton", "wool", "new", "sale")
PAIRS = ("color/red", "size/m", "material/wool", "brand/acme", "price/low", "season/summer")
CYRILLIC = ("красный", "синий", "хлопок", "шерсть", "новый", "скидка")


def combinations(values: tuple[str, ...], most: int, begin: str) -> list[str]:
    """Return all paths with one of these values up to `most` of them, in any order."""
    found = [permutations(values, number) for number in range(1, most + 1)]
    return [f"https://a.example/{begin}{'/'.join(one)}/" for each in found for one in each]


def taken_of(urls: list[str], traps: Traps | None = None) -> list[str]:
    """Return the URLs that the frontier takes, if a page of the site leads to each of them."""
    traps = traps or Traps()
    return [url for url in urls if take(traps, link(url)) is None]


SHOPS = [
    # https://github.com/10up/ElasticPress/issues/1750
    (combinations(FACETS, MOST, "shop/"), SETS, "facets below a folder"),
    (combinations(FACETS, MOST, "en/shop/women/"), SETS, "facets below three"),
    (combinations(FACETS, 5, ""), 218, "facets at the root"),
    (combinations(PAIRS, 5, "catalog/"), 62, "pairs of a name and a value"),
    (combinations(CYRILLIC, 5, "магазин/"), 62, "another script"),
]


@pytest.mark.parametrize(("urls", "sets", "why"), SHOPS, ids=[row[-1] for row in SHOPS])
@pytest.mark.parametrize("is_mixed", [False, True], ids=["in order", "mixed"])
def test_a_set_of_parts_is_one_page(urls: list[str], sets: int, why: str, is_mixed: bool) -> None:
    if is_mixed:
        random.Random(1).shuffle(urls)
    taken = taken_of(urls)
    assert len(taken) <= 2 * sets + 400, f"{why}: each set once, and what was taken before the site was known"
    sets_taken = {frozenset(url.split("/")) for url in taken}
    assert {frozenset(url.split("/")) for url in urls} == sets_taken, "each set"


LETTERS = "abcdefghijklmnopqrst"
LANGUAGES = ("en", "de", "fr")
NO_FACETS = [
    ([f"convert/{one}/{other}" for one, other in permutations(LETTERS, 2)], "two parts"),
    ([f"{one}/{other}/word{n}" for n in range(40) for one, other in permutations(LANGUAGES, 2)], "languages"),
    ([f"bible/{a}/{b}/{c}" for a, b, c in product(range(1, 13), repeat=3)], "numbers"),
    ([f"docs/{v}/{one}/page{n}" for v in ("v1", "v2") for one in LANGUAGES for n in range(99)], "a tree"),
    ([f"{y}/{m}/{d}/post" for y in (2024, 2025) for m in range(1, 13) for d in range(1, 13)], "dates"),
]


@pytest.mark.parametrize(("paths", "why"), NO_FACETS, ids=[row[-1] for row in NO_FACETS])
def test_paths_whose_parts_have_an_order_are_all_taken(paths: list[str], why: str) -> None:
    traps, urls = Traps(), [f"https://a.example/{path}" for path in paths]
    assert taken_of(urls, traps) == urls, why
    assert traps.row() == {}, "nothing is stored"


def known_shop() -> Traps:
    traps = Traps()
    taken_of(combinations(FACETS, 5, "shop/"), traps)
    return traps


NEXT = [
    ("https://a.example/shop/cotton/red/blue/m/", False, "a set that is known"),
    ("https://a.example/shop/red/red/", False, "a part that comes twice"),
    ("https://a.example/shop/red/", True, "one part"),
    ("https://a.example/shop/product/red-shirt", True, "a product"),
    ("https://a.example/blog/2031/05/red", True, "another page of the site"),
]


@pytest.mark.parametrize(("url", "is_taken", "why"), NEXT, ids=[row[-1] for row in NEXT])
def test_what_a_known_shop_leaves_out(url: str, is_taken: bool, why: str) -> None:
    traps = Traps(known_shop().row())  # as after a restart
    assert (traps.reason(url, TODAY) is None) is is_taken, why
    assert (take(traps, link(url)) is None) is is_taken, why


def test_links_of_strangers_teach_nothing_and_take_no_place() -> None:
    evil = "https://evil.example/"
    traps = Traps()
    for url in combinations(FACETS, 4, "shop/"):
        assert take(traps, link(url, referrer=evil)) is None
    assert traps.row() == {}
    shop = known_shop()
    before = shop.row()["path_sets"]
    assert take(shop, link("https://a.example/shop/red/blue/m/l/wool/new/", referrer=evil)), "a set that is unknown"
    assert take(shop, link("https://a.example/shop/red/blue/x/", referrer=evil)) is None, "a page below such parts"
    assert shop.row()["path_sets"] == before


def test_the_combinations_of_a_host_are_bounded() -> None:
    traps = Traps()
    values = tuple(f"v{letter}" for letter in "abcdefghijklmnop")
    urls = combinations(values, 4, "shop/")
    taken = taken_of(urls, traps)
    assert len(traps.row()["path_sets"]) == MAX_SETS
    assert len(taken) < 5_000 < len(urls)
    assert len(traps._orders._sample) <= SAMPLED_SETS


MOVED = [
    ("docs/guide", "{x}/docs/guide", ("install", "api", "faq"), "docs/guide/page-{n}", "a folder that moved"),
    ("docs/en/v2", "v2/docs/en/{x}", ("intro", "setup", "faq"), "docs/en/v2/topic-{n}", "a version that moved"),
    ("shop/red/cotton", "shop/{x}/red/cotton", ("shirt", "skirt", "sock"), "shop/red/cotton/shirt/p-{n}", "products"),
    ("wiki/main", "{x}/wiki/main", ("lore", "maps", "items"), "wiki/main/{n}/page-{n}", "a number between"),
]
"""Old paths, new paths, three pages that came in both, and 3,000 further pages with the same parts in one order."""


@pytest.mark.parametrize(("old", "new", "pages", "further", "why"), MOVED, ids=[row[-1] for row in MOVED])
def test_pages_below_parts_without_an_order_are_all_taken(
    old: str, new: str, pages: tuple[str, ...], further: str, why: str
) -> None:
    traps = Traps()
    both = [path for x in pages for path in (f"{old}/{x}", new.format(x=x))]
    taken_of([f"https://a.example/{path}" for path in both], traps)
    assert traps.row()["path_parts"], "the parts have no order"
    urls = [f"https://a.example/{further.format(n=n)}" for n in range(3_000)]
    assert taken_of(urls, traps) == urls, why
    marked = Traps(traps.row()).row().get("path_parts", {})
    assert len(marked) <= len(pages), "the parts of the further pages have lost their marks"


def test_a_page_below_parts_without_an_order_is_left_out_beside_its_other_order() -> None:
    traps = known_shop()
    pages = [f"https://a.example/shop/red/cotton/product-{n}" for n in range(WORD_PAGES // 2)]
    assert taken_of(pages, traps) == pages
    assert taken_of([url.replace("red/cotton", "cotton/red") for url in pages], traps) == []
    more = [f"https://a.example/shop/red/cotton/more-{n}" for n in range(WORD_PAGES - 1)]
    assert taken_of(more, traps) == more
    assert take(traps, link("https://a.example/shop/cotton/red/blue/wool/l/")), "the marks have their full time again"


def test_a_shop_whose_products_ended_the_marks_is_known_again() -> None:
    traps = known_shop()
    taken_of([f"https://a.example/shop/{'/'.join(FACETS)}/product-{n}" for n in range(3_000)], traps)
    assert "path_parts" not in traps.row()
    assert len(taken_of(combinations(FACETS, 5, "shop/"), traps)) < 2_000
    assert traps.row()["path_parts"]


def test_only_the_same_host_teaches() -> None:
    traps, evil = Traps(), "https://evil.a.example/"
    urls = [f"https://a.example/{path}" for x in ("b", "c", "d") for path in (f"docs/guide/{x}", f"{x}/docs/guide")]
    for url in urls:
        assert take(traps, link(url, referrer=evil)) is None, "of the same registrable domain"
    assert traps.row() == {}
    shop = known_shop()
    before = shop.row()["path_sets"]
    assert take(shop, link("https://a.example/shop/red/blue/m/l/wool/new/", referrer=evil)), "takes no place of a set"
    assert shop.row()["path_sets"] == before
