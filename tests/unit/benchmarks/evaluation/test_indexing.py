"""The index of an evaluation has the quality of each document, as the pipeline's index has."""

from benchmarks.evaluation.indexing import qualities_of
from streams.pages.document.model import Block, Document

PROSE = (
    "The river is shallow here, and the water runs fast over stones. Anglers call such a place a riffle, since the "
    "surface breaks into small waves. In summer the trout move to deeper pools, where the water stays cold. A flood in "
    "spring carries gravel away and leaves a new bank further down. People who fish here learn to read these signs."
)


def document(host: str, text: str) -> Document:
    return Document(url=f"https://{host}/", title="Rivers", language="en", blocks=(Block("p", text),))


def test_a_page_that_repeats_its_keywords_has_a_lower_quality() -> None:
    found = qualities_of(
        [document("a.example", PROSE), document("b.example", "cheap plumber near me best plumber " * 80)]
    )
    assert found["https://b.example/"] < 0.5 < found["https://a.example/"]
