"""A word weighs the same in pages of all languages: an English query finds a foreign page by its words as it would find
an English page, and no stem of another language lifts a page.

The web has six languages: pages of the bundled web in English, manuals in German, Riffle's messages in five
translations, and in each translation the English titles in a sentence, as sites name what they have not translated
yet.
"""

import math
import random
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from babel.messages.pofile import read_po

from benchmarks.search.indirect_questions import FOLDER
from benchmarks.search.open_sets import read_web
from streams.gateway import messages
from streams.local.demo import unpack
from streams.pages.text.tokens import words
from streams.stores.protocols import SparseVector
from streams.vectors.bm25 import document_vector, query_vector

NOT_TRANSLATED = {
    "de": "Die Seiten zum Thema {} sind noch nicht übersetzt.",
    "es": "Las páginas sobre {} todavía no están traducidas.",
    "fr": "Les pages sur {} ne sont pas encore traduites.",
    "ja": "{}のページはまだ翻訳されていません。",
    "ru": "Страницы на тему {} ещё не переведены.",
}
GERMAN = frozenset({"SQLite 3 - Einstieg in die Datenbankwelt (2010)"})
"""Headings of the bundled web that are not English: the title of a book."""
QUERIES = 1_000
SEED = 7
NEAR = 0.01
"""Scores that differ by less are equal: the least weight of a word is a hundred times as much."""


class Text(NamedTuple):
    language: str
    text: str
    title: str = ""


class Web(NamedTuple):
    texts: Sequence[Text]
    queries: Sequence[str]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Web:
    pages = read_web(unpack(tmp_path_factory.mktemp("web") / "demo", max_pages=40))
    pages = [page for page in pages if page.document.language == "en"]
    english = [Text("en", text, page.title) for page in pages for text in page.paragraphs]
    titles = sorted({page.title for page in pages})
    headings = {block.text for page in pages for block in page.document.blocks if re.fullmatch("h[1-6]", block.tag)}
    german = [Text("de", text, page.title) for page in read_web(FOLDER) for text in page.paragraphs]
    texts = [*english, *german]
    for language, sentence in NOT_TRANSLATED.items():
        texts += [Text(language, text) for text in translations(language)]
        texts += [Text(language, sentence.format(title)) for title in titles]
    queries = dict.fromkeys([*titles, *sorted(headings), *parts_of_sentences(english)])
    return Web(texts, [query for query in queries if query not in GERMAN][:QUERIES])


def translations(language: str) -> list[str]:
    with (Path(*messages.__path__) / f"{language}.po").open("rb") as source:
        return [one.string for one in read_po(source, locale=language) if one.id and isinstance(one.string, str)]


def parts_of_sentences(english: Sequence[Text]) -> list[str]:
    """Return runs of two to six words, as people type them, from drawn sentences."""
    drawn = random.Random(SEED)
    spoken = [found for text in english if len(found := words(text.text)) > 8]
    parts = []
    for found in drawn.choices(spoken, k=QUERIES):
        start = drawn.randrange(len(found) - 6)
        parts.append(" ".join(found[start : start + drawn.randint(2, 6)]))
    return parts


class Index:
    """BM25 over texts, with the inverse document frequencies that the index has."""

    def __init__(self, vectors: Sequence[SparseVector]) -> None:
        self._postings: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        for place, vector in enumerate(vectors):
            for term, weight in zip(vector.indices, vector.values, strict=True):
                self._postings[term].append((place, weight))
        self._count = len(vectors)

    def scores(self, query: str) -> dict[int, float]:
        found: defaultdict[int, float] = defaultdict(float)
        asked = query_vector(query)
        for term, weight in zip(asked.indices, asked.values, strict=True):
            postings = self._postings.get(term, [])
            rarity = math.log(1 + (self._count - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, of_text in postings:
                found[place] += weight * of_text * rarity
        return found


def test_no_foreign_text_gains_a_rank_by_a_stem(web: Web) -> None:
    """Each text is found as if it were English: behind the same English texts, for a thousand English queries."""
    as_they_are = Index([document_vector(text, language=language, title=title) for language, text, title in web.texts])
    as_english = Index([document_vector(text, language="en", title=title) for _, text, title in web.texts])
    assert len(web.queries) == QUERIES
    assert {text.language for text in web.texts} == {"en", *NOT_TRANSLATED}
    found, gained = 0, {}
    for query in web.queries:
        scores, plain = as_they_are.scores(query), as_english.scores(query)
        foreign = [place for place in scores if web.texts[place].language != "en"]
        found += bool(foreign)
        lifted = [place for place in foreign if scores[place] > plain.get(place, 0.0) + NEAR]
        sunk = [place for place in plain if web.texts[place].language == "en" and scores[place] < plain[place] - NEAR]
        if lifted or sunk:
            gained[query] = [web.texts[place] for place in (*lifted, *sunk)][:2]
    assert found > QUERIES / 2, "foreign texts have words of most queries"
    assert not gained, f"{len(gained)} queries"


@pytest.mark.parametrize("language", ["de", "fr", "es", "ru", "ja", "vi", ""])
@pytest.mark.parametrize("word", ["documentation", "apache", "Kubernetes", "Häuser", "utf8", "дома"])
def test_a_word_is_found_in_pages_of_every_language(word: str, language: str) -> None:
    text = document_vector(word, language=language)
    for query in (word, f"{word} xyzzy", f"what is {word}"):
        assert set(query_vector(query).indices) & set(text.indices)


@pytest.mark.parametrize("query", ["Haus", "Haus kaufen", "Wo kaufe ich ein Haus?"])
def test_a_query_finds_inflections_even_where_its_language_is_not_sure(query: str) -> None:
    index = Index([document_vector(text, language="de") for text in ("Häuser", "Haus und Hof", "Bäume")])
    scores = index.scores(query)
    assert scores.keys() == {0, 1}
    assert 0 < scores[0] < scores[1], "the word itself is better"
