"""The questions of the demo, and names of pages and sites, over some of its pages: in memory, by the real model.

`make demo` asks the same over all pages on real servers. Here are the pages with the answers, those that were once
found before them, and the first pages of two sites.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from benchmarks.evaluation.search import DEADLINE_SECONDS, Options, open_run
from streams.commands.stack.demo import Verdict, ranked_statements
from streams.gateway.search.answer_model import SearchAnswer
from streams.gateway.search.answers import to_search_answer
from streams.local.demo import QUESTIONS, unpack
from streams.pages.normalize import normalize
from streams.search.deadline import Deadline
from streams.search.request import parse
from streams.search.searcher import Searcher
from streams.settings import Settings
from streams.stores.protocols import FOR_EVERYBODY

pytestmark = pytest.mark.night

OTHER_PAGES = """
    sqlite.test/index.html sqlite.test/famous.html sqlite.test/codeofethics.html sqlite.test/transactional.html
    docs.python.test/index.html docs.python.test/tutorial/index.html
    postgresql.test/index.html postgresql.test/release-15-9.html postgresql.test/wal-intro.html
    postgresql.test/history.html postgresql.test/datatype-money.html
    git-scm.test/html/git-revert.html
"""
NAMES = [
    ("sqlite", "sqlite.test/index.html"),
    ("docs.python.test", "docs.python.test/index.html"),
    ("postgresql website", "postgresql.test/index.html"),
    ("release notes", "postgresql.test/release-15-9.html"),
    ("brief history of postgresql", "postgresql.test/history.html"),
    ("git-revert", "git-scm.test/html/git-revert.html"),
]
"""A name of a page or site, with the page that is the first result."""


@pytest.fixture(scope="module")
async def searcher(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Searcher]:
    folder = tmp_path_factory.mktemp("demo")
    web = unpack(folder / "web")
    wanted = sorted({question.url.removeprefix("https://") for question in QUESTIONS} | set(OTHER_PAGES.split()))
    documents = [normalize((web / path).read_bytes(), url=f"https://{path}").document for path in wanted]
    settings = Settings.model_validate({"home": folder, "triton": {"url": "inprocess:"}})
    async with AsyncExitStack() as stack:
        run = await open_run(stack, settings, Options(cache=folder / "eval", embedders=2), lambda step, done, of: None)
        _, index = await run.index("demo", documents)
        yield run.searcher(index)


async def answer_to(searcher: Searcher, query: str) -> SearchAnswer:
    found = await searcher.find(
        parse(query, options=searcher.options, visible=FOR_EVERYBODY), Deadline(DEADLINE_SECONDS)
    )
    return to_search_answer(found)


async def test_each_question_has_its_answer_among_the_first_statements(searcher: Searcher) -> None:
    verdicts = []
    for question in QUESTIONS:
        answer = await answer_to(searcher, question.question)
        verdicts.append(Verdict(question, ranked_statements(answer.model_dump(mode="json"))))
    assert [(each.question.question, each.rank) for each in verdicts if not each.right] == []


async def test_a_name_finds_its_page_first(searcher: Searcher) -> None:
    found = {query: (await answer_to(searcher, query)).results[0].url.removeprefix("https://") for query, _ in NAMES}
    assert found == dict(NAMES)
