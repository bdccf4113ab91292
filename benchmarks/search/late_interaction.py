"""Late interaction (MaxSim): what the vectors of single tokens would add to the ranking, and what they would cost.

    python -m benchmarks late-interaction DIR --web MIRROR [--rows FILE]

For the first pages of a query, the score is the mean over the query's tokens of the best cosine to a token of the
page's best statement (Khattab and Zaharia, "ColBERT", 2020), by the last layer of the present model. It is added at
the place of the pass `rerank`, as a cross-encoder's score is. The forms differ in the tokens and in their vectors:

recomputed   all 384 numbers of each token, embedded again for each search, in the statement's context
kept         fewer dimensions of 8 bits, by a projection that was fitted on tokens of the web MIRROR, not centred

DIR has test collections (`python -m benchmarks eval search --all`), and each one is measured by itself: FILE keeps its
figures, and a collection that is in FILE is not measured again. The projection is kept beside it. The weight is chosen
with each collection left out in turn.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any
from uuid import UUID

import numpy as np
import typer
from numpy.typing import NDArray

from benchmarks.evaluation.collection import Collection, read_collection
from benchmarks.evaluation.commands.in_process import search_in_process
from benchmarks.evaluation.indexing import RememberedLists, pages_of
from benchmarks.evaluation.metrics import mean, ndcg, percentile
from benchmarks.evaluation.protocol import (
    MADE,
    RIFFLE,
    Measured,
    compare,
    find_collections,
    gains_left_out,
    mean_of,
)
from benchmarks.evaluation.search import Run
from benchmarks.evaluation.snippets import draw
from benchmarks.evaluation.systems import first_pages
from benchmarks.search.known_items import report
from benchmarks.search.open_sets import read_web
from benchmarks.search.repeated_runs import add_kept, open_repeated_run, read_kept
from streams.commands.console import AsJson, command, out, print_json
from streams.models.inference.encoder import Floats, SentenceEncoder, batches
from streams.models.inference.repository import parameters_of, read_config
from streams.models.inference.runtimes import resolve_runtime
from streams.models.inference.tokenizing import encode_all
from streams.models.inprocess import LOCAL_REPOSITORY, VERSION
from streams.search.ranker import PASSES
from streams.search.ranking.context import Apply, Pass, RankingContext
from streams.search.ranking.reranking import add_model_scores
from streams.search.ranking.weights import is_question
from streams.settings import Settings
from streams.statements.statement import Statement
from streams.stores.protocols import Hit, PageHits

PLACE = "rerank"
"""The pass in whose place the scores are added."""
PAGES = 50
WEIGHTS = (0.4, 0.6, 0.8)
"""Gains of a page by a score of one standard deviation above the lowest one."""
WEB_PAGES, WEB_STATEMENTS = 300, 4_000
"""Maximum pages and statements of the web on which the projection is fitted."""
MIN_QUERIES = 10
"""Least number of questions, or of other queries, for a part in the means: fewer have no error to speak of."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of late interaction."""

    dimensions: int | None = None
    """Numbers that are kept of a token, of 8 bits each. None: all numbers as they are."""
    pages: int = PAGES
    own: bool = True
    """Only the tokens of the statement, without its context."""


FORMS: Mapping[str, Form] = {
    "recomputed, 20 pages": Form(pages=20, own=False),
    "recomputed, 50 pages": Form(own=False),
    "recomputed, 50 pages, own tokens": Form(),
    "kept, 128 x 8 bits": Form(128),
    "kept, 64 x 8 bits": Form(64),
    "kept, 128 x 8 bits, with context": Form(128, own=False),
}


def max_sim(query: Floats, tokens: Floats) -> float:
    """Return the mean over the query's vectors of the best cosine to one of the tokens. All have unit length."""
    return float((query @ tokens.T).max(axis=1).mean()) if len(query) and len(tokens) else 0.0


def unit(vectors: NDArray[Any]) -> Floats:
    """Return the vectors with unit length; a vector of zeros stays."""
    floats = vectors.astype(np.float32)
    scaled: Floats = floats / np.maximum(np.linalg.norm(floats, axis=1, keepdims=True), np.float32(1e-12))
    return scaled


def fit_projection(tokens: Floats) -> Floats:
    """Return the directions in which these vectors are longest, the longest first. They are not centred."""
    _, directions = np.linalg.eigh((tokens.T @ tokens).astype(np.float64))
    projection: Floats = directions[:, ::-1].astype(np.float32)
    return projection


def keep(tokens: Floats, projection: Floats) -> NDArray[np.int8]:
    """Return what is kept of the vectors: projected, 8 bits a number. A cosine needs no scale, so none is kept."""
    projected = tokens @ projection
    highest = np.maximum(np.abs(projected).max(axis=1, keepdims=True), np.float32(1e-12))
    kept: NDArray[np.int8] = np.rint(projected / highest * 127).astype(np.int8)
    return kept


class TokenEncoder(SentenceEncoder):
    """The model of statements, with a vector for each token."""

    def token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Return the tokens' vectors of each text, of unit length, without the marks at both ends."""
        encodings = encode_all(self._tokenizer, texts, self._prefixes)
        found: list[Floats] = [np.empty((0, self.dimensions), np.float32)] * len(texts)
        for length, batch in batches([len(encoding) for encoding in encodings]):
            hidden, mask = self.last_layer([encodings[index] for index in batch], length)
            for index, vectors, used in zip(batch, hidden, mask.sum(axis=1), strict=True):
                found[index] = unit(vectors[1 : used - 1])
        return found

    def own_tokens(self, statement: str) -> int:
        """Return the number of the statement's own tokens, which are the last ones of its embedding text."""
        return self.tokens(" ".join(statement.split("\n"))) - 2


@dataclass(slots=True)
class Candidates:
    """The queries of a collection with the best statements of their first pages, and the tokens' vectors of both."""

    statements: dict[str, dict[UUID, Statement]] = field(default_factory=dict)
    """By query, the best statements of its pages."""
    vectors: dict[UUID, tuple[NDArray[np.float16], int]] = field(default_factory=dict)
    """By statement, the vectors of its text in its context, and how many of the last ones are its own."""
    asked: dict[str, Floats] = field(default_factory=dict)
    """By query, its tokens' vectors."""

    def observe(self, context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
        """Take the first pages of a search. A pass without an effect."""
        of_query = self.statements.setdefault(context.text, {})
        for page in pages[:PAGES]:
            payload = page.hits[0].payload
            of_query[page.hits[0].id] = Statement(
                page.hits[0].id, payload.ordinal, payload.text, tuple(payload.context)
            )
        return pages

    def read(self, encoder: TokenEncoder) -> None:
        """Embed the tokens of all queries and statements."""
        self.asked = dict(zip(self.statements, encoder.token_vectors(list(self.statements)), strict=True))
        every = {identity: each for found in self.statements.values() for identity, each in found.items()}
        waiting = list(every)
        for start in range(0, len(waiting), 256):
            part = waiting[start : start + 256]
            vectors = encoder.token_vectors([every[identity].in_context for identity in part])
            for identity, rows in zip(part, vectors, strict=True):
                self.vectors[identity] = rows.astype(np.float16), encoder.own_tokens(every[identity].text)
            report("tokens", start + len(part), len(waiting))

    def scores(self, form: Form, projection: Floats) -> tuple[dict[str, dict[UUID, float]], list[float]]:
        """Return each query's scores of its statements, and the time of each query (milliseconds)."""
        stored: dict[UUID, NDArray[Any]] = {}
        chosen = projection[:, : form.dimensions] if form.dimensions else None
        for identity, (rows, own) in self.vectors.items():
            of_form = rows[-own:] if form.own and own else rows
            stored[identity] = of_form if chosen is None else keep(of_form.astype(np.float32), chosen)
        found, times = {}, []
        for text, statements in self.statements.items():
            query = self.asked[text] if chosen is None else unit(self.asked[text] @ chosen)
            started = perf_counter()
            found[text] = {identity: max_sim(query, unit(stored[identity])) for identity in statements}
            times.append((perf_counter() - started) * 1_000)
        return found, times

    def bytes_kept(self, form: Form) -> float:
        """Return the mean bytes of a statement whose vectors are kept in this form."""
        each = form.dimensions or 0
        return mean([each * (own if form.own else len(rows)) for rows, own in self.vectors.values()])


class OrderOnly(RememberedLists):
    """Lists that are read once, of pages whose first sentences nobody will see."""

    async def first_statements(self, page_ids: Sequence[UUID], count: int) -> list[Hit]:
        return []


def with_scores(form: Form, scores: Mapping[str, Mapping[UUID, float]]) -> Sequence[Pass]:
    """Return the passes of a ranking that adds these scores to its first pages."""

    def add(context: RankingContext, pages: list[PageHits]) -> list[PageHits]:
        of_query = scores.get(context.text, {})
        context.read[PLACE] = [of_query.get(page.hits[0].id, 0.0) for page in pages[: form.pages]]
        return add_model_scores(context, pages)

    return in_its_place(add)


def in_its_place(apply: Apply) -> Sequence[Pass]:
    return [Pass(PLACE, apply) if each.name == PLACE else each for each in PASSES]


async def measure(run: Run, collection: Collection, encoder: TokenEncoder, projection: Floats) -> Row:
    """Return nDCG@10 of each query, today's and with each form and weight, and what each form costs."""
    queries = [query.text for query in collection.queries]
    _, index = await run.index(collection.name, collection.documents)
    remembered, candidates = OrderOnly(index), Candidates()

    async def gains(passes: Sequence[Pass], **changed: Any) -> list[float]:
        ranked = await first_pages(run.searcher(remembered, passes, **changed), queries)
        return [round(ndcg(each, query.grades), 4) for each, query in zip(ranked, collection.queries, strict=True)]

    row: dict[str, Any] = {
        "set": collection.name,
        "questions": [is_question(query) for query in queries],
        "today": await gains(in_its_place(candidates.observe)),
        "forms": {},
    }
    candidates.read(encoder)
    for name, form in FORMS.items():
        scores, times = candidates.scores(form, projection)
        passes = with_scores(form, scores)
        row["forms"][name] = {
            "gains": [await gains(passes, rerank_weight=weight) for weight in WEIGHTS],
            "bytes": round(candidates.bytes_kept(form)),
            "ms": round(percentile(times, 0.5), 2),
        }
        report(f"{collection.name}: {name}", len(queries), len(queries))
    return row


async def fit_on_web(run: Run, web: Path, encoder: TokenEncoder) -> Floats:
    """Return the projection for the tokens of drawn pages of a web."""
    documents = [page.document for page in read_web(web, WEB_PAGES)]
    pages = await pages_of(documents, run.models.chains, partial(report, "statements of the web"))
    statements = draw([each for page in pages for each in page.statements], WEB_STATEMENTS, lambda each: str(each.id))
    return fit_projection(np.concatenate(encoder.token_vectors([each.in_context for each in statements])))


def summarize(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what each form gains, for questions and for other queries apart."""
    kinds = {"questions": True, "others": False}
    return {
        "sets": {row["set"]: {kind: row["questions"].count(value) for kind, value in kinds.items()} for row in rows},
        **{kind: {name: _of_form(rows, name, value) for name in FORMS} for kind, value in kinds.items()},
        "costs": {
            name: {cost: round(mean([row["forms"][name][cost] for row in rows]), 2) for cost in ("bytes", "ms")}
            for name in FORMS
        },
    }


def _of_form(rows: Sequence[Row], name: str, are_questions: bool) -> dict[str, Any]:
    """Return the gains of a form with each weight, and with the weight that the other collections choose."""

    def some(row: Row, gains: Sequence[float]) -> list[float]:
        return [gain for gain, question in zip(gains, row["questions"], strict=True) if question is are_questions]

    measured = [
        Measured(
            row["set"],
            {RIFFLE: some(row, row["today"])},
            {name: some(row, row["today"])},
            {name: [some(row, gains) for gains in row["forms"][name]["gains"]]},
        )
        for row in rows
    ]
    measured = [each for each in measured if len(each.gains[RIFFLE]) >= MIN_QUERIES]
    if not measured:
        return {}
    left_out = gains_left_out(measured, name)
    judged = [gain for each, gain in zip(measured, left_out, strict=False) if each.name not in MADE]
    found: dict[str, Any] = {}
    for place, weight in enumerate(WEIGHTS):
        pairs = [(each.strengths[name][place], each.gains[RIFFLE]) for each in measured]
        together = compare([gain for ours, _ in pairs for gain in ours], [gain for _, today in pairs for gain in today])
        found[str(weight)] = {
            "sets": {each.name: compare(*pair).to_dict() for each, pair in zip(measured, pairs, strict=True)},
            "mean": mean_of([compare(*pair) for pair in pairs]).to_dict(),
            "queries": together.to_dict(),
        }
    found["left_out"] = {each.name: gain.to_dict() for each, gain in zip(measured, left_out, strict=False)}
    found["means"] = {
        kind: mean_of(gains).to_dict() for kind, gains in (("all", left_out), ("judged", judged)) if gains
    }
    return found


def table(found: Mapping[str, Any], kind: str) -> list[str]:
    """Return a table in Markdown: the mean of the collections with each weight, and with each one left out."""
    shown = [*map(str, WEIGHTS), "left out", "left out, judged", f"each query once, {WEIGHTS[1]}"]
    lines = [f"| {kind} | {' | '.join(shown)} | bytes | ms |", f"|---|{'---:|' * (len(shown) + 2)}"]
    for name, of_form in found[kind].items():
        left_out, costs = of_form.get("means", {}), found["costs"][name]
        means = [of_form.get(str(weight), {}).get("mean") for weight in WEIGHTS]
        once = of_form.get(str(WEIGHTS[1]), {}).get("queries")
        gains = (_signed(each) for each in (*means, left_out.get("all"), left_out.get("judged"), once))
        lines.append(f"| {name} | {' | '.join(gains)} | {costs['bytes']:.0f} | {costs['ms']:.1f} |")
    return lines


def _signed(difference: Mapping[str, float] | None) -> str:
    return f"{difference['mean']:+.4f} ±{difference['error']:.4f}" if difference else "-"


def open_encoder(settings: Settings) -> TokenEncoder:
    """Return the model of the local repository. Raises UsageError when a file is missing."""
    folder = settings.models_path / LOCAL_REPOSITORY / settings.triton.model
    return TokenEncoder(resolve_runtime(parameters_of(read_config(folder))), folder / VERSION)


@command
async def run(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder with test collections.")],
    web: Annotated[Path, typer.Option(exists=True, file_okay=False, help="HOST/path.html, for the projection.")],
    rows: Annotated[Path, typer.Option(help="File of the figures, for each collection a line.")] = Path(
        "late-interaction.jsonl"
    ),
    as_json: AsJson = False,
) -> None:
    """Measure what the cosines of tokens add to the ranking of questions and of other queries, and what they cost.

    Example:  python -m benchmarks late-interaction collections/ --web mirror/
    """
    settings, options = search_in_process()
    measured = read_kept(rows)
    done = {row["set"] for row in measured}
    waiting = [each for each in find_collections(folder) if each.name not in done]
    if waiting:
        async with AsyncExitStack() as stack:
            opened = await open_repeated_run(stack, settings, options)
            encoder = open_encoder(settings)
            fitted = rows.with_suffix(".npy")
            if not fitted.is_file():
                np.save(fitted, await fit_on_web(opened, web, encoder))
            projection = np.load(fitted)
            for each in waiting:
                measured.append(await measure(opened, read_collection(each), encoder, projection))
                add_kept(rows, measured[-1])
    found = summarize(measured)
    if as_json:
        print_json(found)
    else:
        out.print("\n".join([*table(found, "questions"), "", *table(found, "others")]), highlight=False, soft_wrap=True)
