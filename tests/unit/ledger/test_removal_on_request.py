"""The status and history of a page that was removed on request, and that someone crawls nevertheless."""

from typing import Any
from uuid import uuid4

from schemas import PageFetched
from schemas.ids import page_id
from streams.ledger.descriptions import describe, describe_next_step, describe_status
from streams.ledger.status import status_of
from streams.stores.protocols import Transition

URL = "https://a.example/x"
PAGE = page_id(URL)


def step(topic: str, at: int, **data: Any) -> Transition:
    return Transition(PAGE, uuid4(), topic, "", at, data={"page_id": str(PAGE), "generation": at, **data})


def test_a_fetch_that_was_not_made_leaves_the_page_removed_on_request() -> None:
    event = PageFetched(
        page_id=PAGE, url=URL, host="a.example", outcome="refused", generation=9, removed_on_request=True
    )
    assert describe(event) == "Not requested: the page was removed on request"
    fetched = step("pages.fetched", 9, outcome="refused", removed_on_request=True)
    status = status_of([step("pages.removed", 5, reason="request"), step("pages.scheduled", 8), fetched])
    assert describe_status(status) == "Removed on request"
    assert describe_next_step(status) == "It is never fetched again. To withdraw the removal: riffle remove --undo URL"


def test_an_import_that_dedup_refuses_leaves_the_page_removed_on_request() -> None:
    removed = step("pages.removed", 5, reason="request")
    imported = [step("pages.fetched", 9, outcome="ok"), step("pages.settled", 9, verdict="refused")]
    assert describe_status(status_of([removed, *imported])) == "Removed on request"
