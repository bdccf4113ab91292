"""A query in a language that the embedding model doesn't know is only searched by words, with that language's stems."""

from typing import Any

from tests.stages.gateway_fakes import client, gateway, searchable, statement

HTML = {"accept": "text/html"}
PAGES = [
    statement("https://d.example/", "Die Häuser der Stadt stehen am Hafen.", title="Häuser", language="de"),
    statement("https://e.example/", "The harbour is old.", title="Harbour"),
]


async def ask(languages: tuple[str, ...] | None, query: str) -> tuple[dict[str, Any], str]:
    app = gateway(await searchable(PAGES), deadline_seconds=20.0, limits={"model_languages": languages})
    async with client(app) as web:
        answer = (await web.get("/api/v1/search", params={"q": query, "explain": True})).json()
        page = (await web.get("/search", params={"q": query}, headers=HTML)).text
    return answer, page


async def test_only_words_are_searched_and_the_answer_is_not_partial() -> None:
    answer, page = await ask(("en",), "Wo steht das Haus der Stadt?")
    assert [result["url"] for result in answer["results"]] == ["https://d.example/"], "the other page shares no word"
    assert answer["explain"]["parts"]["dense"] == "empty"
    assert not answer["partial"]
    assert answer["reasons"][0]["part"] == "dense"
    assert "doesn&#39;t know this language (de)" in page


async def test_a_model_that_knows_the_language_searches_meaning() -> None:
    for languages in (("en", "de"), (), None):
        answer, page = await ask(languages, "Wo steht das Haus der Stadt?")
        assert answer["explain"]["parts"]["dense"] == "ok"
        assert len(answer["results"]) == 2
        assert "know this language" not in page
