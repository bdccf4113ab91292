"""Lines of a site's frame weigh little and are not shown: rows of links, notices, and lines that many pages repeat."""

from collections.abc import Sequence
from uuid import UUID, uuid5

from streams.search.ranking.frame_lines import FRAME_WEIGHT, MIN_REPEATS, find_frame_lines, weaken
from streams.stores.protocols import Candidates, Hit
from tests.stages.gateway_fakes import payload_of, statement

DONATE = "Please donate to keep the servers of the harbour running."


def hit(url: str, text: str, score: float, kind: str = "sentence", context: Sequence[str] = ()) -> Hit:
    row = statement(url, text) | {"kind": kind, "context": list(context)}
    return Hit(uuid5(UUID(int=0), url + text), score, payload_of(row))


def test_links_notices_contents_addresses_and_repeated_lines_are_of_the_frame() -> None:
    repeated = [hit(f"https://a.example/{number}", DONATE, 0.9) for number in range(MIN_REPEATS)]
    links = hit("https://a.example/1", "Prev | Up | Next", 0.8)
    notice = hit("https://a.example/1", "This page last modified on 2021-02-12", 0.7)
    contents = hit("https://a.example/1", "2.1. Ferries; 2.2. Harbours of the north", 0.7, "list")
    addresses = hit("https://a.example/1", "ferries → ships.html#ferries harbour.html", 0.65, "item")
    plain = hit("https://a.example/1", "The ferry leaves at noon.", 0.6)
    found = Candidates(dense=(*repeated, links, notice, contents), sparse=(repeated[0], addresses, plain), limit=9)
    assert find_frame_lines(found) == {hit.id for hit in (*repeated, links, notice, contents, addresses)}


def test_entries_of_an_index_are_of_the_frame_and_names_below_a_lead_in_are_not() -> None:
    entries = [
        hit("https://a.example/index", "Large anchors, Anchors of large ships", 0.8, "link"),
        hit("https://a.example/index", "Anchor Chains; Anchor Lamps; Anchor Ropes", 0.8, "list"),
        hit("https://a.example/index", "Save as, Save as…", 0.8, "item"),
    ]
    led = hit("https://a.example/2", "Fore Mast; Main Mast; Mizzen Mast", 0.8, "list", ["The ship has the masts:"])
    facts = hit("https://a.example/2", "Free tea, even in a storm", 0.8, "item")
    assert find_frame_lines(Candidates(dense=(*entries, led, facts), limit=9)) == {one.id for one in entries}


def test_what_other_hosts_or_few_pages_have_too_is_not_of_the_frame() -> None:
    quoted = [hit(f"https://h{number}.example/", DONATE, 0.9) for number in range(MIN_REPEATS)]
    few = [hit(f"https://a.example/{number}", "See the timetable of the harbour.", 0.9) for number in range(3)]
    code = [hit(f"https://a.example/{number}", "git commit -a", 0.9, "code") for number in range(MIN_REPEATS)]
    assert not find_frame_lines(Candidates(dense=(*quoted, *few, *code), limit=99))


def test_an_entry_of_a_page_of_entries_keeps_nothing_whatever_its_length() -> None:
    url, text = "https://a.example/index", "; ".join(["Anchor Chains", "Anchor Lamps", "Anchor Ropes"] * 20)
    row = statement(url, text) | {"kind": "list", "entry": True}
    entry = Hit(uuid5(UUID(int=0), text), 0.9, payload_of(row))
    plain = [hit(f"https://a.example/{n}", f"The ferry {n} leaves at noon.", n / 10) for n in (6, 5)]
    found = Candidates(dense=(entry, *plain), sparse=(entry,), limit=9)
    frame = find_frame_lines(found)
    assert frame == {entry.id}
    weak = weaken(found, frame, 0.0)
    assert {one.id: one.score for one in weak.dense} == {plain[0].id: 0.6, plain[1].id: 0.5, entry.id: 0.5}
    assert weak.sparse[0].score == 0


def test_a_line_of_the_frame_keeps_half_of_its_distance_to_the_floor() -> None:
    first, second, last = (
        hit("https://a.example/", text, score) for text, score in (("a", 0.9), ("b", 0.7), ("c", 0.5))
    )
    found = weaken(Candidates(dense=(first, second, last), sparse=(first,), limit=9), {first.id}, 0.0)
    assert [(one.id, round(one.score, 3)) for one in found.dense] == [
        (second.id, 0.7),
        (first.id, 0.5 + FRAME_WEIGHT * 0.4),
        (last.id, 0.5),
    ]
    assert found.sparse[0].score == FRAME_WEIGHT * 0.9
