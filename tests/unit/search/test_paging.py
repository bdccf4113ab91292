"""The results of longer lists behind those of the shorter ones."""

from uuid import UUID, uuid5

import pytest

from streams.search.paging import append_new_results
from streams.search.ranking.context import Notes, Ranked
from streams.stores.protocols import Hit, PageHits
from tests.stages.gateway_fakes import payload_of, statement


def page(name: str) -> PageHits:
    hit = Hit(uuid5(UUID(int=0), name), 1.0, payload_of(statement(f"https://{name}.example/", "A text.", title="")))
    return PageHits(hit.payload.page_id, (hit,), 1.0)


NEAR, FAR, FURTHER, LAST = (page(name) for name in ("near", "far", "further", "last"))


@pytest.mark.parametrize(
    ("marked", "far"),
    [
        pytest.param([FURTHER, LAST], [FAR, FURTHER, LAST], id="all at the end"),
        pytest.param([LAST], [LAST], id="a nearer one stands behind a far one"),
        pytest.param([], [], id="only nearer ones follow"),
        pytest.param([NEAR, FURTHER, LAST], [FAR, FURTHER, LAST], id="what is settled stays as it is"),
    ],
)
def test_only_pages_at_the_end_of_the_whole_order_are_far(marked: list[PageHits], far: list[PageHits]) -> None:
    settled = Ranked([NEAR, FAR], Notes(far=frozenset({FAR.page_id})))
    further = Ranked([NEAR, FURTHER, LAST], Notes(far=frozenset(each.page_id for each in marked)))
    both = append_new_results(settled, further)
    assert both.pages == [NEAR, FAR, FURTHER, LAST]
    assert both.notes.far == {each.page_id for each in far}
