"""The table of first results: the first statement of each query, and the place of its first right page."""

from pathlib import Path

import pytest

from benchmarks.evaluation.search import Options
from benchmarks.search.first_results import Shown, measure, rows
from streams.settings import Settings

GUIDE = Path(__file__).parents[3] / "docs/reference/ten-questions.md"


def test_the_table_has_a_row_for_each_query_and_the_sums() -> None:
    found = [
        Shown("ferries", 1, "/ropes.html", "and a | b", False),
        Shown("ferries", 2, "/ferries.html", "The ferry leaves at noon.", True),
        Shown("masts", 1, "/masts.html", "A mast is long. " * 9, False, nearest_only=True),
    ]
    _, _, ferries, masts, _, shares, nearest = rows(found)
    assert ferries == "| ferries | `ropes.html` | and a \\| b | place 2 | yes |"
    assert masts.startswith("| masts | `masts.html` | A mast is long. ")
    assert masts.endswith("… | no | nearest only |")
    assert shares == "1 of 2 queries have a right page"
    assert nearest == 'among the first three results, and 1 stand under "nothing found; nearest by meaning".'


@pytest.mark.night
@pytest.mark.timeout(1_200)  # nothing is embedded before, and the machine may have other work
async def test_the_guide_has_the_table_of_today(tmp_path: Path) -> None:
    settings = Settings.model_validate({"home": tmp_path, "triton": {"url": "inprocess:"}})
    found = await measure(settings, Options(cache=tmp_path / "eval", embedders=2))
    guide = GUIDE.read_text(encoding="utf-8")
    assert [row for row in rows(found) if row not in guide] == [], "run python -m benchmarks first-results"
