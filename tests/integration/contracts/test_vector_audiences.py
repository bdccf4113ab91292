"""The contract of every vector index: who sees a statement, and whose statements count for its score."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from streams.doctor.searchable_pages import find_outdated
from streams.stores.protocols import EVERYTHING, FOR_EVERYBODY, Point, Visible
from streams.stores.statement_payload import StatementPayload
from streams.topology import VERSIONS
from tests.integration.contracts.indexes import Index, axis, filled, page, point, search, terms

INTERN, BOARD = "intern", "board intern"
"""The audience of a private site, and the one of a domain that two private sites name."""
POINTS = (
    point("a", "a", axis(7), {1: 1.0}),
    point("b", "b", axis(7), {1: 1.0}, host="b.example", audience=INTERN),
    point("c", "c", axis(7), {1: 1.0}, host="c.example", audience=BOARD),
    point("d", "d", axis(7), {1: 1.0}, host="d.example", audience="removed"),
    point("e", "e", axis(7), {1: 1.0}, host="e.example"),
)
READERS = [
    (FOR_EVERYBODY, {"a", "e"}, "a stranger"),
    (Visible((INTERN,), ()), {"a", "b", "e"}, "a key of a site"),
    (Visible((INTERN, BOARD), ()), {"a", "b", "c", "e"}, "a key of a site with two audiences"),
    (Visible(("tenant",), ()), {"a", "e"}, "a key of another site"),
    (Visible((), ("e.example",)), {"a"}, "a page that was indexed before its site was private"),
    (Visible((INTERN,), ("b.example",)), {"a", "e"}, "hidden wins"),
]


@pytest.mark.parametrize(("visible", "pages", "who"), READERS, ids=[who for *_, who in READERS])
async def test_who_sees_a_statement(index: Index, visible: Visible, pages: set[str], who: str) -> None:
    await filled(index, *POINTS)
    for dense, sparse in ((axis(7), None), (None, terms(t1=1.0)), (axis(7), terms(t1=1.0))):
        found = await search(index, dense=dense, sparse=sparse, visible=visible)
        assert {one.page_id for one in found} == {page(name) for name in pages}, who


async def test_operators_see_every_audience_by_meaning(index: Index) -> None:
    await filled(index, *POINTS)
    assert len(await search(index, dense=axis(7), sparse=None, visible=EVERYTHING)) == len(POINTS)


async def scores(index: Index, visible: Visible) -> Mapping[str, float]:
    found = await index.candidates(dense=None, sparse=terms(t1=1.0, t2=1.0), visible=visible)
    return {hit.payload.title: round(hit.score, 5) for hit in found.sparse}


@pytest.mark.parametrize("audience", [INTERN, BOARD])
async def test_the_words_of_other_audiences_do_not_count(
    index: Index, audience: str, request: pytest.FixtureRequest
) -> None:
    """The weight of a word for everybody is the same with and without private statements that have it."""
    everybodys = [point(f"p{n}", f"p{n}", terms={1: 1.0} if n else {2: 1.0}) for n in range(4)]
    collection = await filled(index, *everybodys)
    before = await scores(index, FOR_EVERYBODY)
    private = [point(f"s{n}", f"s{n}", terms={1: 1.0, 2: 0.5}, audience=audience) for n in range(5)]
    await index.upsert(collection, private)
    assert await scores(index, FOR_EVERYBODY) == before
    of_owner = await scores(index, Visible((audience,), ()))
    assert before.items() < of_owner.items()
    await index.upsert(collection, [point("other", "other", terms={1: 1.0}, audience="other")])
    rare = await scores(index, Visible(("other",), ()))
    assert rare["other"] > 1.5 * of_owner["s1"], "frequent in another audience, and not in its own"
    if "real" not in request.node.name:  # before Qdrant 1.19, the number of statements is of all private audiences
        assert await scores(index, Visible((audience,), ())) == of_owner


async def test_a_change_of_audience_holds_at_once_and_asks_for_a_replay(index: Index) -> None:
    of_host = [point(f"b{n}", "b", axis(7), {1: 1.0}, host="b.example", ordinal=n) for n in range(2)]
    below = point("c", "c", axis(7), {1: 1.0}, host="c.example")
    collection = await filled(index, *(with_versions(each) for each in (*of_host, below)))
    assert await find_outdated(index, collection) is None
    for host, audience in (("b.example", INTERN), ("above.example", BOARD)):
        for _ in range(2):  # a second call changes nothing
            await index.set_audience(collection, host, audience)
    assert {hit.payload.audience for hit in await index.scroll(collection, page("b"))} == {INTERN}
    assert await search(index, dense=axis(7), sparse=terms(t1=1.0)) != []
    assert await search(index, dense=axis(7), sparse=terms(t1=1.0), visible=FOR_EVERYBODY) == []
    of_owner = await search(index, dense=axis(7), sparse=terms(t1=1.0), visible=Visible((INTERN,), ()))
    assert [one.page_id for one in of_owner] == [page("b")]
    outdated = await find_outdated(index, collection)
    assert outdated is not None
    assert (outdated.stage, outdated.pages) == ("normalize", 2), "each page counts once"
    await index.set_audience(collection, "b.example", "")
    assert {hit.payload.audience for hit in await index.scroll(collection, page("b"))} == {""}
    await index.upsert(collection, list(map(with_versions, of_host)))
    outdated = await find_outdated(index, collection)
    assert outdated is not None
    assert outdated.pages == 1, "the other one was made anew"


async def test_a_page_that_is_written_anew_has_its_words_at_one_place(index: Index) -> None:
    """A point that changes its audience keeps no words of the former one."""
    collection = await filled(index, point("a", "a", terms={1: 1.0}))
    for audience in (INTERN, "", BOARD):
        made = point("a", "a", terms={1: 1.0}, audience=audience) if audience else point("a", "a", terms={1: 1.0})
        await index.upsert(collection, [made])
        for asked in (INTERN, BOARD):
            found = await index.candidates(dense=None, sparse=terms(t1=1.0), visible=Visible((asked,), ()))
            assert len(found.sparse) == (audience in ("", asked))


def with_versions(made: Point) -> Point:
    versions = {} if made.payload.ordinal else {f"made_{stage}": version for stage, version in VERSIONS.items()}
    row = made.payload.row() | versions
    return replace(made, payload=StatementPayload.of_row(row))
