"""The contract of fingerprints, in memory and in Cassandra."""

import random
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from streams.stores.cassandra import CassandraFingerprints
from streams.stores.memory import MemoryFingerprints, MemoryPages
from streams.stores.page_record import Deduplicated, PageRecord
from streams.stores.protocols import AliasEvidence, Fingerprint, Fingerprints, Sight
from tests.integration.contracts.conftest import BOTH


@pytest.fixture(params=BOTH)
def store(request: pytest.FixtureRequest) -> Fingerprints:
    if request.param == "memory":
        return MemoryFingerprints(MemoryPages())
    return CassandraFingerprints(request.getfixturevalue("cassandra_session"))


def a_page(**fields: object) -> Fingerprint:
    """A page unlike any other."""
    chance = random.SystemRandom()
    page = Fingerprint(
        page_id=uuid4(),
        content_hash=uuid4().hex,
        simhash=chance.getrandbits(64),
        url="https://example.com/",
        generation=1,
        canonical_url="https://example.com/canonical",
        first_seen=1,
        document_ref="ab" * 32,
        words=400,
        sketch=chance.randbytes(128),
        keys=tuple(chance.getrandbits(63) for _ in range(4)),
    )
    return replace(page, **fields)  # type: ignore[arg-type]  # each test knows the fields


async def equal(store: Fingerprints, page: Fingerprint) -> list[Fingerprint]:
    """The pages whose sketch is the page's."""
    return await similar(store, page, 1.0)


async def similar(store: Fingerprints, page: Fingerprint, similarity: float) -> list[Fingerprint]:
    """The pages whose sketch is like the page's."""
    return await store.look_up(a_page(sketch=page.sketch, keys=page.keys), similarity)


def changed(sketch: bytes, places: Iterable[int]) -> bytes:
    """The sketch with other bytes at these places."""
    return bytes(byte ^ 1 if place in set(places) else byte for place, byte in enumerate(sketch))


async def test_a_stored_fingerprint_is_read(store: Fingerprints) -> None:
    page = a_page()
    await store.put(page, 5)
    assert await store.get(page.page_id) == replace(page, written_at=5)
    assert await store.get(uuid4()) is None


@pytest.mark.parametrize("is_elected", [True, False])
async def test_a_record_is_written_and_read_with_the_fingerprint(store: Fingerprints, is_elected: bool) -> None:
    page = a_page()
    page = replace(page, representative=page.page_id if is_elected else None)
    first = Deduplicated.of_row({"url": page.url, "generation": 1, "verdict": "unique", "at": 7})
    await store.put(page, 5, None, first)
    record, found = await store.get_with_record(page.page_id)
    assert record.parts() == [first]
    assert found is not None
    assert found == await store.get(page.page_id)
    assert (found.written_at, found.representative) == (5, page.representative)
    await store.put(page, 6, found, replace(first, verdict="near", at=6))
    record, found = await store.get_with_record(page.page_id)
    assert found is not None
    assert (record.deduplicated.verdict, found.written_at) == ("unique", 6), "each has its own time"
    await store.put(page, 4, found, replace(first, verdict="near", at=9))
    assert (await store.get_with_record(page.page_id))[0].parts() == [first], "not with an older fingerprint"
    await store.remove(page.page_id, 8)
    assert await store.get_with_record(page.page_id) == (PageRecord({"deduplicated": first.row()}), None)


@pytest.mark.parametrize("keys", [1, 4], ids=["a short text has one key", "four bands"])
async def test_pages_with_equal_texts_are_found(store: Fingerprints, keys: int) -> None:
    one = a_page(keys=a_page().keys[:keys])
    other = replace(one, page_id=uuid4())
    for page in (one, other):
        await store.put(page, 1)
    assert {page.page_id for page in await equal(store, one)} == {one.page_id, other.page_id}
    assert await equal(store, a_page()) == []


async def test_a_text_without_keys_is_found_by_no_look_up(store: Fingerprints) -> None:
    page = a_page(words=0, keys=())
    await store.put(page, 1)
    assert await store.look_up(page, 0.5) == [replace(page, written_at=1)]
    assert await store.look_up(replace(page, page_id=uuid4()), 0.5) == []
    await store.set_representative(page.page_id, page.page_id, 1)
    await store.remove(page.page_id, 2)
    assert await store.get(page.page_id) is None


# The caller's row is returned, unless another page has a key of the text, or the page's own keys lead nowhere any more.
@pytest.mark.parametrize(
    ("then", "is_read"),
    [
        ("nothing", False),
        ("a like page is stored", True),
        ("an unlike page with one of the keys is stored", True),
        ("it becomes a duplicate", True),
        ("it is removed", True),
    ],
)
async def test_the_row_of_a_new_page_is_read_only_if_another_page_shares_a_key(
    store: Fingerprints, then: str, is_read: bool
) -> None:
    page = a_page()
    page = replace(page, representative=page.page_id)
    await store.put(page, 5, None)
    stored = await store.get(page.page_id)
    given = replace(page, written_at=5, decided_at=5, group=page.page_id)
    assert stored == given
    assert stored is not None
    assert (stored.group, stored.is_hidden) == (given.group, given.is_hidden), "a caller knows all of its first row"
    match then:
        case "a like page is stored":
            await store.put(replace(page, page_id=uuid4(), representative=None), 6, None)
        case "an unlike page with one of the keys is stored":
            await store.put(a_page(keys=(page.keys[0],)), 6, None)
        case "it becomes a duplicate":
            await store.set_representative(page.page_id, uuid4(), 6, known=stored)
        case "it is removed":
            await store.remove(page.page_id, 6, stored)
    mark = replace(given, url="https://given.example/")
    found = await store.look_up(page, 1.0, mark)
    assert (mark in found) != is_read
    assert await store.get(page.page_id) == next((one for one in found if one.page_id == page.page_id), None) or (
        not is_read
    )


async def test_the_row_of_a_new_page_without_keys_is_not_read(store: Fingerprints) -> None:
    page = a_page(words=0, keys=())
    await store.put(page, 5, None)
    mark = replace(page, url="https://given.example/")
    assert await store.look_up(page, 1.0, mark) == [mark]


@pytest.mark.parametrize("number", [0, 1, (1 << 63) - 1])
async def test_numbers_of_63_bits_and_simhashes_of_64_come_back(store: Fingerprints, number: int) -> None:
    page = a_page(simhash=2 * number + 1, keys=(number, *a_page().keys[1:]))
    await store.put(page, 1)
    assert page.page_id in [found.page_id for found in await similar(store, page, 0.9)]
    assert await store.get(page.page_id) == replace(page, written_at=1)


async def test_pages_are_similar_that_share_a_band_and_most_of_the_sketch(store: Fingerprints) -> None:
    page = a_page()
    alike = a_page(sketch=changed(page.sketch, range(0, 28, 4)), keys=(*a_page().keys[:3], page.keys[3]))
    other_sketch = a_page(sketch=page.sketch[:32] + a_page().sketch[32:], keys=page.keys)
    other_bands = a_page(sketch=page.sketch)
    for one in (alike, other_sketch, other_bands):
        await store.put(one, 1)
    assert [found.page_id for found in await similar(store, page, 0.7)] == [alike.page_id]


async def test_a_new_fingerprint_replaces_the_old_one_under_every_key(store: Fingerprints) -> None:
    old = a_page()
    new = replace(a_page(), page_id=old.page_id, generation=2)
    await store.put(old, 1)
    await store.put(new, 2)
    assert await store.get(old.page_id) == replace(new, written_at=2)
    assert await equal(store, old) == []
    assert await similar(store, old, 0.5) == []
    assert [page.page_id for page in await similar(store, new, 0.9)] == [old.page_id]


async def test_keys_that_old_and_new_share_stay(store: Fingerprints) -> None:
    old = a_page()
    new = replace(old, generation=2, sketch=old.sketch[:100] + bytes(28))
    await store.put(old, 1)
    await store.put(new, 2)
    for found in (await similar(store, old, 0.5), await similar(store, new, 0.9)):
        assert [page.page_id for page in found] == [old.page_id]


async def test_an_older_write_never_replaces_a_newer_one(store: Fingerprints) -> None:
    new = a_page(generation=2)
    old = replace(a_page(), page_id=new.page_id)
    await store.put(new, 2)
    await store.put(old, 1)
    await store.remove(new.page_id, 1)
    assert await store.get(new.page_id) == replace(new, written_at=2)
    assert await equal(store, old) == []
    assert [page.page_id for page in await equal(store, new)] == [new.page_id]


async def test_a_removed_page_is_not_found_and_an_older_write_does_not_restore_it(store: Fingerprints) -> None:
    page = a_page()
    await store.put(page, 1)
    await store.remove(page.page_id, 2)
    await store.remove(page.page_id, 2)
    await store.put(page, 1)
    assert await store.get(page.page_id) is None
    for found in (await equal(store, page), await similar(store, page, 0.5)):
        assert found == []
    await store.put(page, 3)
    assert await store.get(page.page_id) == replace(page, written_at=3)


async def test_the_same_writes_twice_are_one(store: Fingerprints) -> None:
    page, representative = a_page(), uuid4()
    for _ in range(2):
        await store.put(page, 1)
        await store.set_representative(page.page_id, representative, 2)
    assert await store.get(page.page_id) == replace(page, written_at=1, representative=representative, decided_at=2)
    assert await ids(store, representative) == [page.page_id]


async def ids(store: Fingerprints, representative: UUID, limit: int = 100) -> list[UUID]:
    """The ids of a representative's duplicates."""
    return [page.page_id for page in await store.duplicates(representative, limit)]


async def group(store: Fingerprints, count: int) -> tuple[UUID, list[UUID]]:
    representative, members = uuid4(), [a_page() for _ in range(count)]
    for page in members:
        await store.put(page, 1)
        await store.set_representative(page.page_id, representative, 1)
    return representative, [page.page_id for page in members]


async def test_a_representative_has_its_duplicates(store: Fingerprints) -> None:
    representative, members = await group(store, 3)
    assert sorted(await ids(store, representative)) == sorted(members)
    assert await ids(store, members[0]) == []


async def test_groups_of_many_pages_are_found_at_once(store: Fingerprints) -> None:
    one, members = await group(store, 3)
    other, (moved, stayed) = await group(store, 2)
    alone = uuid4()
    await store.set_representative(moved, one, 2)
    found = await store.groups([one, other, alone], 10)
    assert {representative: {page.page_id for page in pages} for representative, pages in found.items()} == {
        one: {*members, moved},
        other: {stayed},
    }
    assert found[other] == [await store.get(stayed)]
    assert len((await store.groups([one], 2))[one]) == 2
    assert await store.groups([], 2) == {}


async def test_many_pages_are_read_at_once(store: Fingerprints) -> None:
    pages = [a_page() for _ in range(3)]
    for page in pages:
        await store.put(page, 1)
    await store.set_representative(pages[0].page_id, pages[1].page_id, 2)
    found = await store.get_all([*(page.page_id for page in pages), pages[0].page_id, uuid4()])
    assert set(found) == {page.page_id for page in pages}
    for page in pages:
        known = await store.get(page.page_id)
        assert known is not None
        assert found[page.page_id] == replace(known, representative=None)
    assert await store.get_all([]) == {}


async def test_a_representative_is_no_duplicate(store: Fingerprints) -> None:
    representative, (page,) = await group(store, 1)
    await store.set_representative(page, page, 2)
    assert await ids(store, representative) == []
    assert await ids(store, page) == []
    found = await store.get(page)
    assert found is not None
    assert found.representative == page


async def test_the_latest_decision_wins(store: Fingerprints) -> None:
    representative, (page,) = await group(store, 1)
    other = uuid4()
    await store.set_representative(page, other, 3)
    await store.set_representative(page, representative, 2)
    assert await ids(store, other) == [page]
    assert await ids(store, representative) == []


async def test_a_new_fingerprint_keeps_the_decision(store: Fingerprints) -> None:
    representative, (page,) = await group(store, 1)
    await store.put(replace(a_page(), page_id=page), 4)
    assert await ids(store, representative) == [page]


async def test_a_page_that_represents_itself_is_stored_with_this_decision(store: Fingerprints) -> None:
    page, representative = a_page(first_seen=5), uuid4()
    own = replace(page, representative=page.page_id)
    inherited = (Sight(b"\x02" * 128, 2),)
    await store.put(own, 5)
    assert await store.get(page.page_id) == replace(own, written_at=5, decided_at=5)
    assert await found_by_look_ups(store, page) == [True] * 2
    await store.set_representative(page.page_id, page.page_id, 7, inherited)
    await store.put(own, 5)  # a redelivery
    assert await store.get(page.page_id) == replace(own, written_at=5, decided_at=7, inherited=inherited)
    await store.put(own, 9)
    assert await store.get(page.page_id) == replace(own, written_at=9, decided_at=9), "another text, and another age"
    await store.set_representative(page.page_id, representative, 10)
    await store.put(own, 9)
    found = await store.get(page.page_id)
    assert found is not None
    assert (found.representative, found.decided_at) == (representative, 10), "the decision was later"
    assert await ids(store, representative) == [page.page_id]
    await store.remove(page.page_id, 11)
    await store.put(own, 9)
    assert await store.get(page.page_id) is None


async def test_a_page_without_a_fingerprint_gets_no_decision(store: Fingerprints) -> None:
    representative, page = uuid4(), uuid4()
    await store.set_representative(page, representative, 1)
    assert await ids(store, representative) == []
    assert await store.get(page) is None


async def test_a_removed_page_is_no_duplicate(store: Fingerprints) -> None:
    representative, (page,) = await group(store, 1)
    await store.remove(page, 2)
    assert await ids(store, representative) == []
    await store.put(replace(a_page(), page_id=page), 3)
    found = await store.get(page)
    assert found is not None
    assert found.representative is None


async def test_evidence_about_urls_is_kept_by_host_and_slot(store: Fingerprints) -> None:
    host = f"{uuid4().hex}.test"
    first = AliasEvidence(host, "slash", 3, f"https://{host}/a", f"https://{host}/a/", True)
    later = replace(first, agrees=False)
    other = replace(first, rule="parameter:ref", slot=0)
    for at, evidence in ((1, first), (3, later), (2, first), (1, other)):
        await store.note_alias_evidence(evidence, at)
    assert sorted(await store.alias_evidence(host), key=lambda found: found.rule) == [other, later]
    assert await store.alias_evidence("elsewhere.test") == []


async def test_evidence_against_a_rule_is_never_replaced_by_evidence_for_it(store: Fingerprints) -> None:
    host = f"{uuid4().hex}.test"
    agrees = AliasEvidence(host, "slash:remove", 3, f"https://{host}/a", f"https://{host}/a/", True)
    against = replace(agrees, agrees=False)
    for at, evidence in ((5, agrees), (2, against), (9, agrees), (2, against)):
        await store.note_alias_evidence(evidence, at)
    assert await store.alias_evidence(host) == [against]


async def test_first_sights_come_back_and_inherited_ones_count_until_the_next_fingerprint(store: Fingerprints) -> None:
    former, of_variant, of_site = Sight(b"\x01" * 128, 3), Sight(b"\x02" * 128, 2), Sight(b"\x03" * 128, 1, False)
    page = a_page(first_seen=5, sights=(former, Sight(b"\x04" * 128, 5)))
    await store.put(page, 5)
    await store.set_representative(page.page_id, page.page_id, 6, (of_variant, of_site))
    found = await store.get(page.page_id)
    assert found is not None
    assert (found.first_seen, found.sights, found.inherited) == (5, page.sights, (of_variant, of_site))
    assert [other.inherited for other in await equal(store, page)] == [found.inherited]
    await store.put(replace(page, sights=()), 7)
    found = await store.get(page.page_id)
    assert found is not None
    assert (found.sights, found.inherited) == ((), ())


async def found_by_look_ups(store: Fingerprints, page: Fingerprint) -> list[bool]:
    """True if each look-up finds the page."""
    look_ups = (await equal(store, page), await similar(store, page, 0.9))
    return [page.page_id in [other.page_id for other in found] for found in look_ups]


async def test_look_ups_find_representatives_and_undecided_pages_only(store: Fingerprints) -> None:
    page, representative = a_page(), uuid4()
    await store.put(page, 1)
    assert await found_by_look_ups(store, page) == [True] * 2, "undecided"
    await store.set_representative(page.page_id, representative, 2)
    assert await found_by_look_ups(store, page) == [False] * 2, "a duplicate"
    await store.put(page, 1)
    assert await found_by_look_ups(store, page) == [False] * 2, "a duplicate, after a redelivery"
    await store.set_representative(page.page_id, page.page_id, 3)
    assert await found_by_look_ups(store, page) == [True] * 2, "promoted"
    await store.set_representative(page.page_id, representative, 4)
    await store.put(page, 9)
    assert await found_by_look_ups(store, page) == [True] * 2, "fetched again"


async def test_a_look_up_by_all_keys_finds_the_page_itself_and_what_each_look_up_finds(store: Fingerprints) -> None:
    page, representative = a_page(), uuid4()
    equal, duplicate = (replace(page, page_id=uuid4()) for _ in range(2))
    similar = a_page(sketch=changed(page.sketch, range(4, 32, 4)), keys=(*a_page().keys[:3], page.keys[3]))
    of_simhash = a_page(simhash=page.simhash)
    for one in (page, equal, similar, duplicate, of_simhash):
        await store.put(one, 1)
    await store.set_representative(duplicate.page_id, representative, 2)
    found = {one.page_id for one in await store.look_up(page, 0.7)}
    assert found == {one.page_id for one in (page, equal, similar)}
    assert await store.look_up(a_page(), 0.7) == []


async def test_a_representative_that_another_worker_hid_shows_it_and_is_shown_again(store: Fingerprints) -> None:
    """Two workers decide at once, each with the row as it was before the other."""
    page = a_page()
    await store.put(page, 2)
    seen = await store.get(page.page_id)
    await store.set_representative(page.page_id, uuid4(), 3, known=seen)
    await store.set_representative(page.page_id, page.page_id, 4, known=seen)
    found = await store.get(page.page_id)
    assert found is not None
    assert (found.representative, found.is_hidden) == (page.page_id, True)
    assert await found_by_look_ups(store, page) == [False] * 2
    for _ in range(2):
        await store.set_representative(page.page_id, page.page_id, 6, known=found)
        shown = await store.get(page.page_id)
        assert shown is not None
        assert (shown.representative, shown.is_hidden) == (page.page_id, False)
        assert await found_by_look_ups(store, page) == [True] * 2
    await store.set_representative(page.page_id, uuid4(), 5, known=seen)
    assert await found_by_look_ups(store, page) == [True] * 2, "an earlier decision changes nothing"


async def test_a_former_row_that_is_out_of_date_deletes_no_hint_of_the_page(store: Fingerprints) -> None:
    first, page_id = a_page(), uuid4()
    first = replace(first, page_id=page_id)
    second, third = replace(a_page(), page_id=page_id), replace(a_page(), page_id=page_id)
    await store.put(first, 1, None)
    seen = await store.get(page_id)
    await store.put(second, 5, seen)
    await store.put(third, 3, seen)
    assert await store.get(page_id) == replace(second, written_at=5)
    assert await found_by_look_ups(store, second) == [True] * 2
    assert await found_by_look_ups(store, first) == [False] * 2
    await store.remove(page_id, 4, seen)
    assert await found_by_look_ups(store, second) == [True] * 2


async def test_look_ups_are_bounded(store: Fingerprints) -> None:
    page = a_page()
    for _ in range(40):
        await store.put(replace(page, page_id=uuid4()), 1)
    for found in (await equal(store, page), await similar(store, page, 0.9)):
        assert len(found) == 32
    representative, _ = await group(store, 5)
    assert len(await store.duplicates(representative, 3)) == 3


async def test_all_duplicates_move_to_another_representative_at_once(store: Fingerprints) -> None:
    former, members = await group(store, 5)
    successor, third = members[0], uuid4()
    await store.set_representative(successor, successor, 2)
    for _ in range(2):
        await store.move_duplicates(former, successor, 2)
    assert sorted(await ids(store, successor)) == sorted(members[1:])
    assert await ids(store, former) == []
    moved = await store.get(members[1])
    assert moved is not None
    assert (moved.representative, moved.decided_at) == (successor, 1)
    assert sorted(page.page_id for page in (await store.groups([successor], 9))[successor]) == sorted(members[1:])
    await store.move_duplicates(successor, third, 1)
    assert sorted(await ids(store, third)) == sorted(members[1:]), "a later move wins, whatever its time"


async def test_a_representative_with_another_text_has_another_group(store: Fingerprints) -> None:
    representative, successor, old, new = uuid4(), uuid4(), a_page(), a_page()
    for page, text in ((old, "old text"), (new, "new text")):
        await store.put(page, 1)
        await store.set_representative(page.page_id, representative, 1, representative_text=text)
    assert sorted(await ids(store, representative)) == sorted([old.page_id, new.page_id])
    await store.move_duplicates(representative, successor, 2, kept_text="new text")
    assert (await ids(store, representative), await ids(store, successor)) == ([new.page_id], [old.page_id])
    late = a_page()
    await store.put(late, 9)
    await store.set_representative(late.page_id, representative, 9, representative_text="old text")
    found = await store.get(late.page_id)
    assert found is not None
    assert found.representative == successor, "a late page joins the group, wherever that has moved"
