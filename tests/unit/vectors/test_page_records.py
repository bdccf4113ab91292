"""The indexed content that follows from the records of a page."""

from typing import Any

import pytest

from schemas import PageRemoved
from schemas.ids import page_id
from streams.stores.page_record import PageRecord
from streams.vectors.page_records import unchanged_since

URL = "https://a.test/private"
DECIDED = {"generation": 20, "verdict": "unique", "repeats": True, "document_generation": 0}
INDEXED = {"url": URL, "generation": 0, "statements": 1, "statements_ref": "1" * 64, "vectors_ref": "2" * 64,
           "model": "m", "model_version": "1", "dimensions": 8}  # fmt: skip


@pytest.mark.parametrize(
    ("decided", "indexed", "generation"),
    [
        ({}, {}, 20),
        ({}, {"url": ""}, 20),  # the removal has it
        ({}, {"statements_ref": ""}, None),
        ({}, {"vectors_ref": ""}, None),
        ({"generation": 10}, {}, None),
        ({"repeats": False}, {}, None),
        ({"verdict": "exact"}, {}, None),
        ({"document_generation": 5}, {}, None),  # that document is not indexed yet
    ],
)
def test_the_content_that_a_visit_after_a_removal_found_unchanged(
    decided: dict[str, Any], indexed: dict[str, Any], generation: int | None
) -> None:
    record = PageRecord({"deduplicated": {**DECIDED, **decided}, "indexed": {**INDEXED, **indexed}})
    removal = PageRemoved(page_id=page_id(URL), url=URL, generation=10, reason="noindex")
    found = unchanged_since(record, removal)
    assert (found and (found.generation, found.url)) == (generation and (generation, URL))
