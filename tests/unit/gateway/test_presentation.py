"""The presentation of hostile and ordinary text: nothing lost, nothing disguised, only the query's words marked."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.http import presentation as show
from streams.gateway.http.languages import Wording, negotiate
from streams.stores.page_record import Normalized
from streams.stores.statement_payload import Place, StatementPayload

CRUMBS = [
    ("https://sqlite.org/wal.html", ("sqlite.org", "wal.html")),
    ("https://www.sqlite.org/", ("sqlite.org",)),
    ("https://rivers.example/reading%20water/", ("rivers.example", "reading water")),
    ("https://a.example/1/2/3/4/5", ("a.example", "…", "4", "5")),
    ("https://a.example/%E2%80%AEgnp.exe", ("a.example", "gnp.exe")),  # no direction overrides
    ("https://a.example/%ff%fe", ("a.example", "\ufffd\ufffd")),
    ("https://[broken", ("https://[broken",)),
]


@pytest.mark.parametrize(("url", "crumbs"), CRUMBS)
def test_breadcrumbs(url: str, crumbs: tuple[str, ...]) -> None:
    assert show.breadcrumbs(url) == crumbs


HREFS = [
    ("https://sqlite.org/wal.html?a=1#b", True),
    ("http://127.0.0.1:8080/", True),
    ("javascript:alert(1)", False),
    ("JaVaScRiPt:alert(1)", False),
    ("java\tscript:alert(1)", False),
    ("data:text/html,<script>1</script>", False),
    ("//evil.example", False),
    ("https:", False),
    ("https://a.example/\u202egnp", False),
    ("https://[broken", False),
    ("", False),
]


@pytest.mark.parametrize(("url", "is_link"), HREFS)
def test_only_web_addresses_become_links(url: str, is_link: bool) -> None:
    assert show.safe_href(url) == (url if is_link else "")
    assert bool(show.fragment_href(url, "some text")) == is_link


@given(st.text(max_size=300), st.integers(10, 60))
def test_a_snippet_is_one_short_line_without_controls(text: str, max_chars: int) -> None:
    line = show.snippet(text, ["a"], max_chars)
    assert len(line) <= max_chars
    assert show.clean_line(line) == line


def test_a_long_statement_is_shown_around_the_querys_words() -> None:
    text = "filler " * 200 + "the needle is here " + "filler " * 200
    assert "needle" in show.snippet(text, ["needle"])


def test_a_snippet_without_spaces_before_the_word_still_has_it() -> None:
    text = "prefix " + "abcdefgh/" * 40 + "SQLITE_BUSY/" + "ijklmnop/" * 20 + " done here"
    assert "SQLITE_BUSY" in show.snippet(text, ["sqlite_busy"])


FRAGMENTS = [
    ("A short one.", "https://a.example/#:~:text=A%20short%20one."),
    ("well-known, & so on", "https://a.example/#:~:text=well%2Dknown%2C%20%26%20so%20on"),
    ("سجل النهر", "https://a.example/#:~:text=%D8%B3%D8%AC%D9%84%20%D8%A7%D9%84%D9%86%D9%87%D8%B1"),
    ("記録は残る", "https://a.example/#:~:text=%E8%A8%98%E9%8C%B2%E3%81%AF%E6%AE%8B%E3%82%8B"),
    # A long text without spaces: its first and its last clause, since a browser finds only whole words.
    (f"{'雨' * 10}、{'水' * 90}、{'川' * 10}", f"https://a.example/#:~:text={'%E9%9B%A8' * 10},{'%E5%B7%9D' * 10}"),
    # A first clause of one word would be found anywhere in the page.
    (
        f"雨、{'水' * 10}、{'木' * 90}、{'川' * 10}、山",
        f"https://a.example/#:~:text=%E9%9B%A8%E3%80%81{'%E6%B0%B4' * 10},{'%E5%B7%9D' * 10}%E3%80%81%E5%B1%B1",
    ),
    ("1 2 3 4 5 6 7 8 9 10 11 12", "https://a.example/#:~:text=1%202%203%204%205,8%209%2010%2011%2012"),
]


@pytest.mark.parametrize(("text", "link"), FRAGMENTS)
def test_links_lead_to_the_statement(text: str, link: str) -> None:
    assert show.fragment_href("https://a.example/", text) == link


@pytest.mark.parametrize(
    ("anchor", "start", "why"),
    [
        ("checkpoints", "https://a.example/#checkpoints", "the section of a manual on one page"),
        ("überblick", "https://a.example/#%C3%BCberblick", "percent-encoded, as a browser does"),
        ('"><b>', "https://a.example/#%22%3E%3Cb%3E", "a stranger's name can't end an attribute"),
        ("os.path.join()", "https://a.example/#os.path.join()", "characters that a fragment may have"),
    ],
)
def test_a_link_has_the_anchor_where_the_text_is_not_found(anchor: str, start: str, why: str) -> None:
    link = show.fragment_href("https://a.example/#old", "a text", Place(anchor=anchor))
    assert link == f"{start}:~:text=a%20text", why


REPEATED = [
    # before, after, text, anchor, link
    ("Yes, a-b &", "Never mind.", "It is off.", "", "#:~:text=Yes%2C%20a%2Db%20%26-,It%20is%20off."),
    ("", "Never mind.", "It is off.", "", "#:~:text=It%20is%20off.,-Never%20mind."),
    ("", "", "It is off.", "modes", "#modes"),  # the section is right, and the first place that has the text is not
    ("", "", "It is off.", "", "#:~:text=It%20is%20off."),
    ("Yes.", "", "1 2 3 4 5 6 7 8 9 10 11", "modes", "#modes:~:text=Yes.-,1%202%203%204%205,7%208%209%2010%2011"),
    ("Yes.", "No.", "… it is off", "", "#:~:text=it%20is%20off"),  # its beginning is cut off
]


@pytest.mark.parametrize(("before", "after", "text", "anchor", "link"), REPEATED)
def test_a_repeated_text_is_looked_for_between_its_neighbours(
    before: str, after: str, text: str, anchor: str, link: str
) -> None:
    place = Place(anchor=anchor, before=before, after=after, is_repeated=True)
    assert show.fragment_href("https://a.example/", text, place) == f"https://a.example/{link}"


BEFORE = [
    ((), (), "none"),
    (("One is here.", "Two is here."), ("One is here.", "Two is here."), "short ones stand as they are"),
    ((f"{'Far ' * 50}away.", f"{'Near ' * 20}by."), ("…", f"{'Near ' * 20}by."), "the nearest has room"),
    ((f"{'Near ' * 60}by.",), (f"{'Near ' * 46}Near…",), "a long one is shortened"),
]


@pytest.mark.parametrize(("context", "before", "why"), BEFORE, ids=[why for *_, why in BEFORE])
def test_sentences_before_a_statement_leave_it_on_the_screen(
    context: tuple[str, ...], before: tuple[str, ...], why: str
) -> None:
    assert show.surround("It is so.", "sentence", context) == ((), before), why


SITE_NAMES = [
    ("The Times", "times.example", "The Times"),
    ("www.times.example", "times.example", ""),
    ("Node.js", "nodejs.org", "Node.js"),  # no name that somebody can register
    ("Booking.com", "secure.booking.com", ""),  # the host says so already
    # The name stands in the place of the address, where another's host would lead people astray.
    ("paypal.com", "stranger.example", ""),
    ("paypal.com › login", "stranger.example", ""),
    ("https://paypal.com/login", "stranger.example", ""),
    ("ｐaypal．com", "stranger.example", ""),
    ("раураl.com", "stranger.example", ""),  # Cyrillic letters
    ("PayPal (www.paypal.com)", "stranger.example", ""),
]


@pytest.mark.parametrize(("name", "host", "shown"), SITE_NAMES)
def test_the_name_of_a_site_has_no_host_of_another(name: str, host: str, shown: str) -> None:
    record = Normalized.of_row({"url": f"https://{host}/", "generation": 1, "site_name": name})
    assert show.site_name_of(record, host) == shown


@given(st.text(alphabet="aO.-_/: ․。ｃом\u0130", max_size=40))
def test_any_name_of_a_site_is_read(name: str) -> None:
    record = Normalized.of_row({"url": "https://a.example/", "generation": 1, "site_name": name})
    assert show.site_name_of(record, "a.example") in ("", show.clean_line(name))


def test_what_strangers_name_without_end_is_kept_within_a_limit() -> None:
    kept = (show.tile_of, show.writes_right_to_left, Wording.of("en").language_name, Wording.of("en").date, negotiate)
    assert all(getattr(each, "cache_info")().maxsize for each in kept)  # noqa: B009  # functions of each language hide it


def test_every_page_has_a_title() -> None:
    assert (
        show.title_of(StatementPayload.of_row({"title": " A\n title\u202e ", "url": "https://a.example/"})) == "A title"
    )
    assert (
        show.title_of(StatementPayload.of_row({"title": "", "url": "https://a.example/some/page.html"})) == "page.html"
    )
    assert show.title_of(StatementPayload.of_row({})) == "Untitled"


def test_the_context_leaves_out_the_title_and_repetitions() -> None:
    payload = StatementPayload.of_row({"title": "WAL", "context": ["WAL", "Overview", "Overview", "", "Speed"]})
    assert show.context_of(payload) == ("Overview", "Speed")
    assert show.context_of(StatementPayload.of_row({"title": "WAL", "context": "Overview"})) == ("Overview",)


def test_the_context_is_headings_and_the_sentences_before() -> None:
    context = ("Installation", "On Linux", "Riffle needs Python.")
    assert show.split_context(context) == (("Installation", "On Linux"), ("Riffle needs Python.",))


def test_the_sentence_before_a_short_one_is_the_last_of_its_context() -> None:
    row = {"title": "Ships", "context": ["Ships", "Harbours"], "before": "The harbour is full."}
    assert show.context_of(StatementPayload.of_row(row)) == ("Harbours", "The harbour is full.")


def test_a_sentence_before_a_statement_is_whole_and_a_heading_is_cut() -> None:
    sentence = f"The ferry {'that leaves at noon ' * 10}is blue."
    shown = show.context_of(StatementPayload.of_row({"title": "Ferries", "context": ["Blue ferries " * 20, sentence]}))
    assert shown[1] == sentence
    assert len(shown[0]) <= show.MAX_TITLE_CHARS


def test_a_term_stands_right_before_what_it_means_and_behind_the_lead_in_of_its_list() -> None:
    context = ("Options", "It takes options:", "--tea")
    assert show.surround("Serves tea.", "item", context) == (("Options",), ("It takes options:", "--tea:"))
    assert show.surround("Tea is served.", "sentence", context) == (("Options", "--tea"), ("It takes options:",))


@pytest.mark.parametrize(
    ("lead", "text", "kind", "context"),
    [
        ("It leaves after:", "a storm, or", "item", ("Ferries", "It leaves after:")),
        ("-f ferry:", "true if the ferry is late", "item", ("-f ferry",)),
        ("--tea:", "Serves tea on each ferry.", "item", ("It takes options:", "--tea")),
        ("Ferries:", "Free tea on each ferry", "item", ("Ferries",)),
        ("", "Ferries, and tea on each", "item", ("Ferries",)),  # the term is a part of the item
        ("", "Ferry | Noon", "row", ("Ferries",)),
        ("", "Free tea on each ferry", "item", ("1.2. Ferries",)),
        ("", "it is late.", "sentence", ("Ferries", "The ferry leaves.")),  # a sentence, with what it refers to
        ("", "a storm", "item", ()),
        ("It is held up by …", "and never leaves.", "sentence", ("Ferries", "It is held up by …", "A storm came.")),
        ("", "The ferry leaves.", "sentence", ("Ferries", "It is held up by …")),
        ("We might try:", "but this does not work.", "sentence", ("Ferries", "We might try:")),  # behind a listing
    ],
)
def test_a_part_of_a_list_has_its_lead_in_or_its_term_before_it(
    lead: str, text: str, kind: str, context: tuple[str, ...]
) -> None:
    assert show.lead_of(text, kind, context) == lead


FERRIES = ("Ferries", "It leaves after:")
BUSES = ("Buses", "They stop at:")


@pytest.mark.parametrize(
    ("leads", "statements"),
    [
        # The first statement is shown with its context, so its lead-in stands above the second one.
        (["It leaves after:", ""], [("a storm, or", "item", FERRIES), ("at noon.", "item", FERRIES)]),
        (["", ""], [("It leaves after:", "sentence", ("Ferries",)), ("a storm, or", "item", FERRIES)]),
        (
            ["", "It leaves after:", ""],
            [("Ferries sink.", "sentence", ()), ("a storm, or", "item", FERRIES), ("at noon.", "item", FERRIES)],
        ),
        # Something else stands between: the lead-in is needed again.
        (
            ["It leaves after:", "They stop at:", "It leaves after:"],
            [("a storm, or", "item", FERRIES), ("the port", "item", BUSES), ("at noon.", "item", FERRIES)],
        ),
    ],
)
def test_a_lead_in_right_above_is_not_repeated(
    leads: list[str], statements: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert show.leads_of(statements) == leads


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 60))
def test_a_folded_text_is_whole_and_its_start_is_short(text: str, max_chars: int) -> None:
    start, rest = show.fold_text(text, max_chars)
    assert start + rest == text
    assert len(start) <= max_chars + max_chars // 3
    assert not rest or len(start) <= max_chars


def test_a_text_is_folded_between_words_and_not_for_half_a_line() -> None:
    assert show.fold_text("one two three four five", 12) == ("one two", " three four five")
    assert show.fold_text("one two three", 12) == ("one two three", "")
    assert show.fold_text("x" * 30, 12) == ("x" * 12, "x" * 18)


LISTING = "\n".join(f"line {number}" for number in range(20))


@given(st.integers(0, 19), st.integers(1, 8))
def test_a_listing_is_cut_around_the_first_word_of_the_query(hit: int, max_lines: int) -> None:
    at = LISTING.index(f"line {hit}")
    shown = show.listing_of(Cut(LISTING, ((at, at + len(f"line {hit}")),)), max_lines)
    lines = shown.text.split("\n")
    assert len(lines) <= max_lines
    assert f"line {hit}" in lines
    assert [shown.text[start:end] for start, end in shown.highlights] == [f"line {hit}"]


class Cut(NamedTuple):
    """A code statement, as far as it matters here."""

    text: str
    highlights: tuple[tuple[int, int], ...]


TILES = [
    ("sqlite.org", "S"),
    ("www.sqlite.org", "S"),
    ("xn--fsse-1ra.example", "F"),
    ("127.0.0.1", "1"),
    ("", "?"),
    ("--", "?"),
]


@pytest.mark.parametrize(("host", "letter"), TILES)
def test_the_tile_of_a_site_has_its_letter_and_one_colour(host: str, letter: str) -> None:
    assert show.tile_of(host).letter == letter
    assert show.tile_of(host).colour == show.tile_of(f"www.{host.removeprefix('www.')}").colour < 8


@pytest.mark.parametrize(
    ("query", "missing", "left"),
    [
        ("sqlite zyzzyva vacuum", ["zyzzyva"], "sqlite vacuum"),
        ("What does “Zyzzyva” do to sqlite?", ["zyzzyva"], "What does do to sqlite?"),
        ("what is a zyzzyva", ["zyzzyva"], ""),  # nothing is left that says something
        ("zyzzyva quux", ["quux", "zyzzyva"], ""),
        ("sqlite vacuum", [], ""),
    ],
)
def test_the_words_that_some_page_has_can_be_searched_alone(query: str, missing: list[str], left: str) -> None:
    assert show.words_beside(query, missing) == left
