"""Nonsense over many webs: how much of it has confident results, by the kind of its words, and what each rule loses.

    python -m benchmarks nonsense DIR... [--rows FILE]

made        the 200 queries from which a gateway measures the bound of its index (`nonsense.py`)
fresh       200 further ones of the same kinds
syllables   invented words of open syllables, single ones and in phrases
senseless   sentences without sense, of frequent words
mixed up    words of other collections, each of another one
of another  words of one other collection, in random order
of its own  words of the asked collection, in random order

Words of the last three are of medium frequency: on two documents at least, and on a fifth of them at most. DIR has test
collections (`python -m benchmarks eval confidence`). Their own queries count as answered if a relevant page is among
the first ten results. `links`, `keywords` and `questions` of one folder are of the same pages, so they count as one
web. FILE keeps the features of all queries, and a collection that is in FILE is not asked again.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.evaluation.collection import Collection, read_collection
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.confidence import FRESH, bound_over
from benchmarks.evaluation.metrics import mean
from benchmarks.evaluation.protocol import MADE, find_collections
from benchmarks.evaluation.search import Run
from benchmarks.search.known_items import report
from benchmarks.search.open_sets import MAX_SHARE, MIN_PAGES, SEED
from benchmarks.search.repeated_runs import add_kept, open_repeated_run, read_kept
from streams.commands.console import AsJson, command, out, print_json
from streams.errors import InvalidQuery
from streams.language.function_words import FUNCTION_WORDS
from streams.pages.document.model import Document
from streams.pages.text.tokens import words
from streams.search.deadline import Deadline
from streams.search.ranker import PASSES
from streams.search.ranking.confidence import (
    MAX_CONFIDENT,
    READ_STATEMENTS,
    Confidence,
    measure_confidence,
    model_bounds,
    words_in,
)
from streams.search.ranking.context import Pass, RankingContext
from streams.search.request import parse
from streams.search.retrieval.nonsense import all_nonsense, make_nonsense, make_senseless
from streams.search.searcher import Searcher
from streams.stores.protocols import FOR_EVERYBODY, Hit, PageHits
from streams.vectors.bm25 import statement_terms

PAGES, STATEMENTS = 30, 8
"""Maximum pages, and statements of each, whose words are compared."""
ROWS = 100
"""Number of queries of each kind whose words are a collection's."""
ROW_WORDS = range(3, 7)
SYLLABLES = 200
_PHRASES = ("{0}", "{0} {1}", "{0} {1} {2}", "{0} vs {1}", "{0} vs {1} {2}", "what is {0}", "{0} of {1} {2}")
_ONSETS = "b d f g h k l m n p r s t v w z ch sh th br kr pl tr"
_VOWELS = "a e i o u ai io ea"
_PLACE = "merge"
"""The pass behind which the pages are read."""


class Seen(NamedTuple):
    """The features of one query that a search saw."""

    closeness: float
    share: float
    """The greatest share of the words that one statement has, the rarer ones counting more."""
    asked: int
    """Number of words of the query."""
    occurring: int
    """Number of its words that one of the first statements by words has."""
    together: int
    """Number of its words that one of these statements has together."""
    on_page: int
    """Number of its words that one of the first pages has together."""

    def reaches(self, bound: float) -> bool:
        """Return True if the results are confident by the rule in use."""
        return Confidence(self.closeness, self.share).certain_score >= bound


class Bounds(NamedTuple):
    """The bounds over one collection."""

    of_model: float
    of_index: float
    near: float = 0.0
    """The closeness that 2.5 % of the made nonsense reach."""


Rule = Callable[[Seen, Bounds], bool]
"""A function that returns True if the results are confident."""


def scattered(seen: Seen) -> bool:
    """Return True if three words occur in the first statements, and no statement has two of them."""
    return seen.occurring >= 3 and seen.together < 2


def apart(seen: Seen, near: float, most: float = 1.0) -> bool:
    """Return True if no statement has more than `most` of three or more words, and none is nearer than nonsense is."""
    return seen.asked >= 3 and seen.together <= most and seen.closeness < near


RULES: Mapping[str, Rule] = {
    "model": lambda seen, bounds: seen.reaches(bounds.of_model),
    "index": lambda seen, bounds: seen.reaches(bounds.of_index),
    "index, scattered": lambda seen, bounds: seen.reaches(bounds.of_index) and not scattered(seen),
    "index, apart": lambda seen, bounds: seen.reaches(bounds.of_index) and not apart(seen, bounds.near),
    "index, half apart": lambda seen, bounds: (
        seen.reaches(bounds.of_index) and not apart(seen, bounds.near, most=seen.asked / 2)
    ),
}


def syllables(count: int = SYLLABLES) -> list[str]:
    """Return queries of invented words of two to four open syllables, always the same ones."""
    drawn, made = random.Random(SEED), dict[str, None]()
    onsets, vowels = _ONSETS.split(), _VOWELS.split()

    def word() -> str:
        return "".join(drawn.choice(onsets) + drawn.choice(vowels) for _ in range(drawn.randint(2, 4)))

    while len(made) < count:
        made[drawn.choice(_PHRASES).format(word(), word(), word())] = None
    return list(made)


def vocabulary(documents: Iterable[Document]) -> list[str]:
    """Return the words of medium frequency, in order."""
    counts, total = Counter[str](), 0
    for document in documents:
        texts = (document.title, *(block.text for block in document.blocks))
        counts.update({word for text in texts for word in words(text) if _is_plain(word)})
        total += 1
    return sorted(word for word, count in counts.items() if MIN_PAGES <= count <= MAX_SHARE * total)


def _is_plain(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in FUNCTION_WORDS["en"]


def rows_of_words(web: str, vocabularies: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return rows of random words for one web, by kind."""
    drawn = random.Random(f"{SEED} {web}")
    others = [found for other, found in sorted(vocabularies.items()) if other != web and found]
    kinds = {"of its own": [_row(drawn, [vocabularies[web]]) for _ in range(ROWS)]}
    if others:
        kinds["of another"] = [_row(drawn, [drawn.choice(others)]) for _ in range(ROWS)]
        kinds["mixed up"] = [_row(drawn, others) for _ in range(ROWS)]
    return kinds


def _row(drawn: random.Random, vocabularies: Sequence[Sequence[str]]) -> str:
    """Return a row of words. Each of them is of another vocabulary, as far as there are enough."""
    chosen = drawn.sample(vocabularies, len(vocabularies))
    return " ".join(drawn.choice(chosen[place % len(chosen)]) for place in range(drawn.choice(ROW_WORDS)))


def web_of(name: str) -> str:
    """Return the name of the web that a collection is of: FOLDER/NAME, and FOLDER for the made ones."""
    folder, _, last = name.rpartition("/")
    return folder if last in MADE else name


class Observer:
    """A pass without an effect, which notes what each search saw."""

    def __init__(self) -> None:
        self.seen: dict[str, Seen] = {}

    def observe(self, context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
        measured = measure_confidence(context.found, context.words)
        covered = [self._words_of(hit, context) for hit in context.found.sparse[:READ_STATEMENTS]]
        self.seen[context.asked] = Seen(
            measured.closeness,
            measured.words,
            len(context.words),
            len(frozenset[int]().union(*covered)),
            max(map(len, covered), default=0),
            max((len(self._words_on(page, context)) for page in pages[:PAGES]), default=0),
        )
        return pages

    @staticmethod
    def _words_of(hit: Hit, context: RankingContext) -> frozenset[int]:
        texts = [hit.payload.text, hit.payload.title, *hit.payload.context]
        return words_in(statement_terms(texts, hit.payload.language), context.words)

    def _words_on(self, page: PageHits, context: RankingContext) -> frozenset[int]:
        return frozenset[int]().union(*(self._words_of(hit, context) for hit in page.hits[:STATEMENTS]))

    def passes(self) -> list[Pass]:
        """Return the passes of a ranking with this one."""
        place = 1 + [each.name for each in PASSES].index(_PLACE)
        return [*PASSES[:place], Pass("seen", self.observe), *PASSES[place:]]


async def ask(searcher: Searcher, observer: Observer, query: str) -> tuple[Seen, frozenset[str]] | None:
    """Return what a search saw, and the pages of its first results. None for a query that is refused or not judged."""
    observer.seen.clear()
    try:
        request = parse(query, options=searcher.options, visible=FOR_EVERYBODY)
    except InvalidQuery:
        return None
    found = await searcher.find(request, Deadline(searcher.options.deadline_seconds))
    seen = next(iter(observer.seen.values()), None)
    return (seen, frozenset(page.hits[0].payload.url for page in found.pages)) if seen else None


async def measure(run: Run, name: str, collection: Collection, kinds: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the features of all queries over one collection, and its bounds."""
    _, index = await run.index(collection.name, collection.documents)
    observer = Observer()
    # With a bound of 0 nothing is left out.
    searcher = run.searcher(index, observer.passes(), min_confidence=0.0)
    model = (await run.embedder.info()).name
    await run.embedder.embed(
        [*(query.text for query in collection.queries), *chain.from_iterable(kinds.values())], "query"
    )
    answered = []
    for query in collection.queries:
        found = await ask(searcher, observer, query.text)
        if found and not found[1].isdisjoint(query.grades):
            answered.append(found[0])
    row: dict[str, Any] = {"set": name, "answered": answered, "kinds": {}}
    for kind, queries in kinds.items():
        asked = [await ask(searcher, observer, query) for query in queries]
        row["kinds"][kind] = [found[0] for found in asked if found]
        report(f"{name}: {kind}", len(queries), len(queries))
    of_model = model_bounds()[model]
    of_index = await bound_over(run.stores(index), run.settings, model)
    return row | {"bounds": [of_model, of_model if of_index is None else of_index]}


def nearest_nonsense(made: Sequence[Sequence[Any]]) -> float:
    """Return the closeness that 2.5 % of the made queries reach; 0 without any."""
    ranked = sorted(Seen(*each).closeness for each in made)
    return ranked[math.floor((1 - MAX_CONFIDENT) * len(ranked))] if ranked else 0.0


def summarize(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return, by rule, the shares of confident nonsense and of lost queries: of each web, in the mean, and at most."""
    found: dict[str, Any] = {}
    for name, rule in RULES.items():
        shares: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            of_model, of_index = row["bounds"]
            bounds = Bounds(of_model, of_index, nearest_nonsense(row["kinds"].get("made", ())))
            of_web = shares[web_of(row["set"])]
            for kind, queries in row["kinds"].items():
                of_web[kind] += [float(rule(Seen(*each), bounds)) for each in queries]
            of_web["lost"] += [float(not rule(Seen(*each), bounds)) for each in row["answered"]]
        webs = {
            web: {kind: round(mean(each), 4) for kind, each in of_web.items() if each} for web, of_web in shares.items()
        }
        found[name] = {"webs": webs, **{way: _over(webs, of) for way, of in (("mean", mean), ("most", max))}}
    return {
        "bounds": {row["set"]: row["bounds"] for row in rows},
        "answered": {row["set"]: len(row["answered"]) for row in rows},
        "rules": found,
    }


def _over(webs: Mapping[str, Mapping[str, float]], of: Callable[[Sequence[float]], float]) -> dict[str, float]:
    kinds = dict.fromkeys(chain.from_iterable(webs.values()))
    return {kind: round(of([each[kind] for each in webs.values() if kind in each]), 4) for kind in kinds}


def table(found: Mapping[str, Any]) -> list[str]:
    """Return a table in Markdown: percentages of each web by the bound of its index, and each rule's mean and most."""
    kinds = list(found["rules"]["index"]["mean"])
    lines = [f"| % | {' | '.join(kinds)} |", f"|---|{'---:|' * len(kinds)}"]
    for web, shares in found["rules"]["index"]["webs"].items():
        lines.append(_line(web, kinds, shares))
    for rule, of_rule in found["rules"].items():
        lines += [_line(f"{rule}: {way}", kinds, of_rule[way]) for way in ("mean", "most")]
    bounds = ", ".join(f"{name} {index:.3f}" for name, (_, index) in found["bounds"].items())
    return [*lines, f"bounds: {bounds}", f"answered: {sum(found['answered'].values())}"]


def _line(name: str, kinds: Sequence[str], shares: Mapping[str, float]) -> str:
    return f"| {name} | {' | '.join(f'{100 * shares[kind]:.1f}' if kind in shares else '-' for kind in kinds)} |"


@command
async def run(
    folders: Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="Folders with test collections.")],
    rows: Annotated[Path, typer.Option(help="File of the features, for each collection a line.")] = Path(
        "nonsense.jsonl"
    ),
    cache: Annotated[Path | None, typer.Option(help="Folder of the vectors. Default: eval in RIFFLE_HOME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how much nonsense has confident results over each web, by the kind of its words.

    Example:  python -m benchmarks nonsense collections/
    """
    settings, options = search_in_process(cache)
    measured = read_kept(rows)
    done = {row["set"] for row in measured}
    places = {
        f"{each.parent.resolve().name}/{each.name}": each for folder in folders for each in find_collections(folder)
    }
    if waiting := [name for name in places if name not in done]:
        vocabularies = {web_of(name): vocabulary(read_collection(place).documents) for name, place in places.items()}
        common = {
            "made": all_nonsense(),
            "fresh": list(chain.from_iterable(make_nonsense(FRESH).values())),
            "syllables": syllables(),
            "senseless": list(make_senseless()),
        }
        async with AsyncExitStack() as stack:
            opened = await open_repeated_run(stack, settings, options)
            for name in waiting:
                kinds = {**common, **rows_of_words(web_of(name), vocabularies)}
                measured.append(await measure(opened, name, read_collection(places[name]), kinds))
                add_kept(rows, measured[-1])
    found = summarize(measured)
    if as_json:
        print_json(found)
    else:
        out.print("\n".join(table(found)), highlight=False, soft_wrap=True)
