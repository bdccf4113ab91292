"""Answers on real servers: pages go through all stages into Cassandra and Qdrant, the models run in process, and the
language model is the deterministic server of the tests."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from schemas.ids import page_id
from streams.gateway.access.bucket import spending_of_day
from streams.gateway.answers.shared_budgets import ANSWERS
from streams.gateway.app import create_app
from streams.pages.sandbox.pool import ParsePool
from streams.settings import AnswersSettings, Settings, TritonSettings
from streams.stores.opener import Stores, open_stores
from tests.conftest import fresh_name
from tests.model_server import Way, model_server
from tests.stages.whole_journey import WholeJourney

pytestmark = [pytest.mark.integration("cassandra", "qdrant"), pytest.mark.timeout(400)]

NAME = f"Quorl{fresh_name('x')[-6:]}"
"""The name of the tower: no other test has it."""
TICKET = f"Zint{fresh_name('x')[-6:]}"
"""The name of a ticket. The model of these tests compares words, and the index has the pages of other tests, too."""
QUESTION = f"How high is the {NAME} tower?"
TOWER, GUIDE, CLOSED = (f"https://{NAME.lower()}-{part}.test/" for part in ("tower", "guide", "closed"))


def html(title: str, *texts: str, head: str = "") -> str:
    paragraphs = "".join(f"<p>{text}</p>" for text in texts)
    return f"<html lang=en><head><title>{title}</title>{head}</head><main><h1>{title}</h1>{paragraphs}</main></html>"


TRIES = 60
LEFT_OUT = (
    "These results are incomplete",
    "The model got no statement",
    ':"missing"',
    '"partial":true',
    '"record-unread"',
    '"related":[]',
)
"""Signs of a search that left out a part for its time."""
PAGES = {
    TOWER: html(
        f"The {NAME} tower",
        f"The {NAME} tower is 120 metres high. It stands on a hill above the river and is seen from all villages.",
        f"The {NAME} tower was finished in 1931 after nine years of work, and its stairs were repaired in 1998.",
    ),
    GUIDE: html(
        f"A guide to {NAME}",
        f"Visitors climb the {NAME} tower by 640 steps, and the view from its terrace reaches to the sea.",
        f"A {TICKET} ticket for children costs half of the usual price, and the terrace is open on each day of summer.",
    ),
    CLOSED: html(
        f"Pictures of {NAME}",
        f"Old pictures show how high the {NAME} tower stands above the roofs of the town, and who built it.",
        head='<meta name="robots" content="noai">',
    ),
}


@pytest.fixture(scope="module")
def settings(stack: Settings) -> Settings:
    return stack.model_copy(update={"triton": TritonSettings(url="inprocess:")})


@pytest.fixture(scope="module")
async def stores(settings: Settings) -> AsyncIterator[Stores]:
    """Stores with the pages, which went through all stages."""
    async with open_stores(settings, ["records", "vectors", "models"]) as opened, ParsePool(1) as pool:
        journey = WholeJourney(pool, opened)
        for at, (url, body) in enumerate(PAGES.items()):
            await journey.fetch(url, body, at)
        yield opened


class Asked:
    """A gateway over the stores, and what it says."""

    def __init__(self, app: FastAPI) -> None:
        self._web = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1", timeout=60)
        self.app = app

    async def page(self, path: str, status: int = 200, **given: Any) -> str:
        response = await self._get(path, {"accept": "text/html"}, given)
        assert response.status_code == status, response.text[-500:]
        return response.text

    async def json(self, path: str, **given: Any) -> dict[str, Any]:
        answer: dict[str, Any] = (await self._get(path, {}, given)).json()
        return answer

    async def events(self, path: str, **given: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        text = (await self._get(path, {}, given)).text
        *parts, end = [json.loads(block.split("data: ", 1)[1]) for block in text.strip().split("\n\n")]
        return parts, end

    async def _get(self, path: str, headers: dict[str, str], given: dict[str, Any]) -> httpx2.Response:
        """Ask until the optional parts of the search came in time: on a busy machine, a search leaves them out, and
        then nothing is given to a model."""
        for _ in range(TRIES):
            response = await self._web.get(path, params={"q": QUESTION, **given}, headers=headers)
            if not any(sign in response.text for sign in LEFT_OUT):
                return response
            await asyncio.sleep(1)
        raise AssertionError(f"parts of the search never came in time: {response.text[-1_000:]}")

    async def close(self) -> None:
        await self._web.aclose()
        await self.app.state.gateway.close()


async def asking(settings: Settings, stores: Stores, url: str) -> Asked:
    answers = AnswersSettings(url=url, deadline_seconds=30)
    gateway = settings.gateway.model_copy(update={"deadline_seconds": 30})
    changed = settings.model_copy(update={"answers": answers, "gateway": gateway})
    return Asked(create_app(changed, stores, publish=None, clock=lambda: datetime.now(UTC)))


async def test_answers_of_all_kinds_stand_on_stored_statements(settings: Settings, stores: Stores) -> None:
    async with model_server("quote", piece_chars=40) as server:
        asked = await asking(settings, stores, server.url)
        quoted = (await asked.json("/api/v1/search"))["beside"]["answer"]["answers"][0]
        assert (quoted["url"], "120 metres" in quoted["text"]) == (TOWER, True), "without the model"
        sentences, end = await asked.events("/api/v1/answer")
        assert end["status"] == "answered"
        assert f"The {NAME} tower is 120 metres high." in [each["text"] for each in sentences]
        urls = {each["statement"]["url"] for each in sentences}
        assert (TOWER in urls, CLOSED in urls) == (True, False)
        assert end["withheld_pages"] == 1, "the page with noai"
        page = await asked.page("/search")
        assert page.index('<ol class="results"') < page.index('id="model-answer"')
        talk = await asked.page("/ask", then="When was it finished?")
        assert "1931" in talk.partition('class="said"')[2]
        summary, end = await asked.events("/api/v1/summary", page=str(page_id(GUIDE)))
        assert end["status"] == "answered"
        assert {each["statement"]["url"] for each in summary} == {GUIDE}
        related = (await asked.json("/api/v1/related"))["related"]
        assert related
        assert not any("bear" in each for each in related), "words that no statement has"
        judged, _ = await asked.events("/api/v1/rank", q=f"{NAME} tower", by=f"{TICKET} tickets")
        assert {row["url"]: row["judgement"] for row in judged}[GUIDE] == 1
        assert "Old pictures" not in server.seen
        now = datetime.now(UTC).timestamp()
        await asked.close()
    rows = [await spending_of_day(stores.notes, ANSWERS, int(now // 3_600) - ago) for ago in (0, 1)]
    assert sum(row.spent for hour in rows for row in hour.values()) >= 5, "the budget is in Cassandra"


@pytest.mark.parametrize(("way", "words"), [("empty", "found no answer"), ("error", "does not answer")])
async def test_without_support_or_without_the_server_it_says_so(
    settings: Settings, stores: Stores, way: Way, words: str
) -> None:
    async with model_server(way) as server:
        asked = await asking(settings, stores, server.url)
        page = await asked.page("/ask", q=f"Who paints the {NAME} tower?")
        assert words in page
        assert 'class="cite"' not in page
        await asked.close()


async def test_without_a_model_the_pages_say_so(settings: Settings, stores: Stores) -> None:
    asked = await asking(settings, stores, "")
    assert "No language model is configured" in await asked.page("/ask", status=404)
    assert 'id="model-answer"' not in await asked.page("/search")
    await asked.close()
