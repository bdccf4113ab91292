"""The whole product from the wheel: the demo starts a stack, pages make their journey, and operators' commands work.

Copies, a reindexing and a round trip on a whole stack are also steps of the drills (tests/integration/drills): from the
wheel they run at night. By day the demo has few pages: whether the answers are found among those of all pages is tested
without servers (tests/unit/benchmarks/evaluation/test_demo_questions.py), and at night among more of them on a real
Qdrant.
"""

import pytest

from streams.local.demo import QUESTIONS
from tests.wheel.conftest import HOST
from tests.wheel.environment import Product

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1_800)]

URL = f"https://{HOST}/"
QUESTION = "when does the harbour of Oulu freeze"


def test_the_demo_answers_its_questions_and_leaves_the_stack(product: Product) -> None:
    assert f"{len(QUESTIONS)} of {len(QUESTIONS)} questions have their answer" in product.shown
    assert "Search page: http" in product.shown
    page = QUESTIONS[0].url
    assert product.answer("page", page)["url"] == page


def test_an_imported_page_is_found_and_has_its_history(product: Product) -> None:
    assert product.answer("search", QUESTION)["results"][0]["url"] == URL
    assert product.answer("page", URL)["url"] == URL


@pytest.mark.parametrize(
    "use",
    [
        "status",
        "status --topics",
        "doctor",
        "dead-letters list",
        "migrate",
        "links rank",
        "blobs sweep",
        pytest.param("reindex", marks=pytest.mark.night),
    ],
)
def test_commands_of_operators_work_on_the_stack(use: str, product: Product) -> None:
    product.output_of(*use.split())


@pytest.mark.night
def test_an_installation_is_copied(product: Product) -> None:
    product.output_of("backup", "copy")
    assert (product.folder / "copy" / "manifest.json").exists()


@pytest.mark.night
def test_a_page_makes_a_round_trip(product: Product) -> None:
    product.output_of("round-trip")


def test_a_page_is_removed_on_request(product: Product) -> None:
    product.output_of("remove", URL, "--yes")
    assert product.answer("search", QUESTION, "--host", HOST, status=1)["results"] == []
