"""The statements of one page: the exact text of each embedding, its chain, its leaf label, and how a query fits it.

The statements come from the statements stage, and the vectors from the embed stage: what is shown is what was
indexed.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from streams.errors import PoisonError
from streams.gateway.context import GatewayContext
from streams.gateway.http import presentation
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.lookup import PageData, read_blob, refuse_copies
from streams.models.protocols import Embedder, ModelInfo
from streams.search.deadline import OptionalPart
from streams.statements.statement import PageStatements, Statement, decode_statements
from streams.vectors.points import decode_vectors

MAX_SHOWN = 200
"""Maximum statements on one page of the list."""
MAX_TEXT_CHARS = 2_000
"""Maximum characters shown of a statement."""
MAX_EMBEDDED_CHARS = 4_000
"""Maximum characters shown of an embedding text."""
MAX_PAGE_CHARS = 200_000
"""Maximum characters on one page of the list. The next statements are on the next page."""
MAX_QUERY_CHARS = 2_000
LEAF = 0.5
"""Minimum probability of a leaf."""
SHOWN = {
    "": "all statements",
    "leaf": "leaves: can be matched alone",
    "no-leaf": "no leaves",
    "chain": "with a chain",
    "no-chain": "without a chain",
}
"""The filters by chain and leaf, each with its name for people."""
KINDS = ("sentence", "item", "link", "list", "row", "code", "heading")


@dataclass(frozen=True, slots=True)
class StatementsRequest:
    """The filters of a list of statements, the query to try, and the number of statements before the list."""

    show: str = ""
    kind: str = ""
    words: str = ""
    ask: str = ""
    start: int = 0


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A statement as the list shows it."""

    ordinal: int
    kind: str
    text: str
    leaf: bool
    leaf_percent: int
    need_percent: int
    chain: tuple[tuple[int, str], ...]
    """Ordinals and texts of its antecedents, the earliest first."""
    embedded: str
    """The exact embedding text, or its start."""
    embedded_chars: int
    score: float | None = None
    """Cosine of the statement's vector and the query's vector."""


@dataclass(frozen=True, slots=True)
class StatementsView:
    """The list, its filters, and the reason if the query could not be tried."""

    url: str
    title: str
    language: str
    request: StatementsRequest
    count: int
    matching: int
    statements: tuple[ShownStatement, ...]
    leaves: int
    chained: int
    unasked: str = ""

    @property
    def following(self) -> int:
        """The number of statements before the next page of the list, or 0."""
        end = self.request.start + len(self.statements)
        return end if end < self.matching else 0


def read_request(show: str, kind: str, words: str, ask: str, start: int) -> StatementsRequest:
    """Return the request of these parameters. Unknown filters are left out, and overlong texts are cut."""
    return StatementsRequest(
        show=show if show in SHOWN else "",
        kind=kind if kind in KINDS else "",
        words=presentation.clean_line(words[:MAX_QUERY_CHARS]),
        ask=presentation.clean_line(ask[:MAX_QUERY_CHARS]),
        start=max(start, 0),
    )


async def statements_view(context: GatewayContext, data: PageData, request: StatementsRequest) -> StatementsView:
    """Return the list of a page's statements.

    Raises ProblemError when the page asks for no copies, has no statements, or their store doesn't answer.
    """
    page = await page_statements(context, data)
    scores, unasked = await _scores(context, data, request.ask)
    return await asyncio.to_thread(_view, data, page, request, scores, unasked)


async def page_statements(context: GatewayContext, data: PageData) -> PageStatements:
    """Return the statements of a page. Raises ProblemError as `statements_view` does."""
    refuse_copies(data)
    indexed = data.record.indexed
    ref = indexed.statements_ref
    packed = await read_blob(context, data, indexed, ref) if ref else None
    return await asyncio.to_thread(_decode_statements, packed)


def _decode_statements(packed: bytes | None) -> PageStatements:
    try:
        if packed is not None:
            return decode_statements(packed)
    except PoisonError:  # written by a release with another layout
        pass
    raise ProblemError(
        Problem(
            "no-statements",
            "It was not divided into statements, or they are no longer kept.",
            "Its history is shown at /page.",
        )
    )


async def _scores(context: GatewayContext, data: PageData, ask: str) -> tuple[NDArray[np.float32] | None, str]:
    """Return the cosine of each statement and the query; or None, and the reason why."""
    indexed = data.record.indexed
    if not ask:
        return None, ""
    if not indexed.vectors_ref:
        return None, "The page's statements have no vectors."
    packed = await read_blob(context, data, indexed, indexed.vectors_ref)
    if packed is None:
        return None, "The page's vectors are no longer kept."
    part = OptionalPart("cosines of the statements", partial(context.metrics.count_failure, "models"))
    query_vector = await part.read(
        lambda: _embed(context.stores.embedder, ask), asyncio.timeout(context.settings.gateway.deadline_seconds)
    )
    if query_vector is None:
        return None, "The embedding model does not answer."
    model, query = query_vector
    if indexed.embedded_by != model.model:
        return None, "The page's vectors are of another model than the one that embeds queries."
    try:
        return await asyncio.to_thread(_cosines, packed, indexed.statements_ref, query), ""
    except PoisonError:
        return None, "The page's vectors can't be read."


async def _embed(embedder: Embedder, text: str) -> tuple[ModelInfo, NDArray[np.float32]]:
    return await embedder.info("query"), (await embedder.embed([text], "query"))[0]


def _cosines(packed: bytes, ref: str, query: NDArray[np.float32]) -> NDArray[np.float32]:
    vectors = decode_vectors(packed, ref)  # read_request: they hold the reference of these statements
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    cosines: NDArray[np.float32] = vectors @ query / np.maximum(lengths, np.float32(1e-12))
    return cosines


def _view(
    data: PageData,
    page: PageStatements,
    request: StatementsRequest,
    scores: NDArray[np.float32] | None,
    unasked: str,
) -> StatementsView:
    found = [statement for statement in page.statements if _matches(statement, request)]
    if scores is not None:
        order = np.argsort(-scores, kind="stable").tolist()
        place = {ordinal: number for number, ordinal in enumerate(order)}
        found.sort(key=lambda statement: place[statement.ordinal])
    return StatementsView(
        url=data.url or str(data.page_id),
        title=presentation.clean_line(page.title, presentation.MAX_TITLE_CHARS),
        language=page.language,
        request=request,
        count=len(page.statements),
        matching=len(found),
        statements=tuple(_fill_page(found[request.start :], page.statements, scores)),
        leaves=sum(statement.leaf >= LEAF for statement in page.statements),
        chained=sum(bool(statement.chain) for statement in page.statements),
        unasked=unasked,
    )


def _fill_page(
    found: Sequence[Statement], statements: Sequence[Statement], scores: NDArray[np.float32] | None
) -> Iterator[ShownStatement]:
    """Yield the first of these statements, as many as fit on one page of the list."""
    left = MAX_PAGE_CHARS
    for statement in found[:MAX_SHOWN]:
        shown = _present_statement(statement, statements, scores)
        left -= len(shown.text) + len(shown.embedded) + sum(len(text) for _, text in shown.chain)
        if left < 0:
            return
        yield shown


def _matches(statement: Statement, request: StatementsRequest) -> bool:
    by_show = {
        "": True,
        "leaf": statement.leaf >= LEAF,
        "no-leaf": statement.leaf < LEAF,
        "chain": bool(statement.chain),
        "no-chain": not statement.chain,
    }
    return (
        by_show[request.show]
        and request.kind in ("", statement.kind)
        and request.words.casefold() in statement.text.casefold()
    )


def _present_statement(
    statement: Statement, statements: Sequence[Statement], scores: NDArray[np.float32] | None
) -> ShownStatement:
    embedded = statement.in_context
    return ShownStatement(
        ordinal=statement.ordinal,
        kind=statement.kind,
        text=presentation.clean_line(statement.text[:MAX_TEXT_CHARS]),
        leaf=statement.leaf >= LEAF,
        leaf_percent=round(100 * statement.leaf),
        need_percent=round(100 * statement.need),
        chain=tuple(
            (at, presentation.clean_line(statements[at].text[:MAX_TEXT_CHARS]))
            for at in statement.chain
            if 0 <= at < len(statements)
        ),
        embedded=embedded[:MAX_EMBEDDED_CHARS],
        embedded_chars=len(embedded),
        score=None if scores is None else float(scores[statement.ordinal]),
    )
