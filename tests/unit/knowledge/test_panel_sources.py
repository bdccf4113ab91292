"""The sources of a panel: each leads to its own page."""

import pytest

from streams.knowledge.entity import Part
from streams.knowledge.lookup.panel import to_panel
from streams.knowledge.merging import merge_parts

WIKIDATA = "https://www.wikidata.org/wiki/Q42"
WIKIPEDIA = "https://en.wikipedia.org/wiki/Douglas_Adams"
OWN = "https://acme.example/adams"
OPERATOR = "The operator of this search engine"
PARTS = {
    "wikipedia": Part(label="Adams", summary="An author.", url=WIKIPEDIA, licence="CC BY-SA 4.0"),
    "wikidata": Part(label="Adams", url=WIKIDATA, licence="CC0 1.0"),
    "own": Part(label="Adams", summary="Our text.", url=OWN, licence="All rights reserved"),
    "own, no address": Part(label="Adams", description="ours"),
}


@pytest.mark.parametrize(
    ("names", "links", "licence"),
    [
        (["wikidata"], {"Wikidata": WIKIDATA}, ""),
        (["wikidata", "wikipedia"], {"Wikidata": WIKIDATA, "Wikipedia": WIKIPEDIA}, "CC BY-SA 4.0"),
        (
            ["own", "wikidata", "wikipedia"],
            {OPERATOR: OWN, "Wikidata": WIKIDATA, "Wikipedia": WIKIPEDIA},
            "All rights reserved",
        ),
        (
            ["own, no address", "wikidata", "wikipedia"],  # the summary is Wikipedia's
            {OPERATOR: "", "Wikidata": WIKIDATA, "Wikipedia": WIKIPEDIA},
            "CC BY-SA 4.0",
        ),
    ],
)
def test_each_source_leads_to_its_own_page(names: list[str], links: dict[str, str], licence: str) -> None:
    panel = to_panel(merge_parts("Q42", {name.split(",")[0]: PARTS[name] for name in names}), {})
    assert {source.name: source.url for source in panel.sources} == links
    assert panel.summary_licence == licence
