"""The extras of the results that are shown: similar pages, facts and first sentences, read side by side.

Similar pages are the duplicates of a page ("3 similar pages"), with their addresses. Facts (the site's name, the
author, the rating and the like) come from the records of the pages. An answer is whole without extras: they are read
for all results at once, within a short time, and left out when their store doesn't answer.

The first sentence of a page is shown where nothing that matched makes sense by itself: a title, or a row of links. The
first statements of all such pages are read in one request. Without them, the statements that matched are shown, and
entries of a list of other pages have a lead-in that says so.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from uuid import UUID

from schemas.ids import page_id
from streams.pages.text.language import primary
from streams.search.deadline import Deadline, OnFailure, OptionalPart, Rest
from streams.search.trace import Trace
from streams.seen.stores import SeenStores
from streams.statements.sentences.lengths import word_count
from streams.statements.sentences.open_texts import OMISSION
from streams.statements.sentences.reading_alone import (
    LEAD_OF_LIST,
    is_complete,
    is_line_of_contents,
    is_navigation,
    is_of_each_page,
    is_sentence,
    reads_alone,
)
from streams.stores.page_record import Normalized
from streams.stores.protocols import Fingerprint, Hit, PageHits, Visible
from streams.stores.statement_payload import StatementPayload

MAX_SIMILAR = 10
"""Maximum similar pages shown of one result. The page's own view has more."""
MAX_VERSIONS = 200
"""Maximum records of versions in other languages that are read for one answer."""
MIN_SENTENCE_WORDS = 8
"""Minimum words of a first sentence, if the page has one. Slogans and greetings at the top of a page are shorter."""
MIN_FOOT_ORDINAL = 5
"""Minimum place of a notice (`last modified`, a version) that begins the foot of a page. An earlier one is a byline."""
PARTS = frozenset({"item", "list", "row"})
"""Kinds of statements that are shown in place of the page's first sentence, which says less about the query. A link to
another page is none: it says what that page is about."""
_LEAD_ENDS = (":", "：", OMISSION)
MAX_ORDINAL = 24
"""Number of first statements of a page that are looked at: a page often begins with a table of contents."""
REST_SECONDS = 2.0
"""Pause after a failure before similar pages, facts or first sentences are read again (seconds)."""

Groups = dict[UUID, list[Fingerprint]]


@dataclass(frozen=True, slots=True)
class Extras:
    """The extras of the pages of one answer."""

    similar: Groups | None = None
    """The duplicates of the pages; None when the duplicates are not known."""
    facts: Mapping[UUID, Normalized] = field(default_factory=dict)
    """The facts of the pages, by their records, as far as they could be read."""
    versions: Mapping[UUID, Sequence[Normalized]] = field(default_factory=dict)
    """The versions of the pages in other languages, by their records: only such as name the page, too."""
    first_sentences: Mapping[UUID, Hit] = field(default_factory=dict)
    """The first sentences of pages without a statement that makes sense by itself."""


class ExtrasReader:
    """The reader of extras of one process, which remembers the failures of the stores."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._similar = OptionalPart("similar pages", partial(on_failure, "records"), Rest(REST_SECONDS))
        self._facts = OptionalPart("facts of pages", partial(on_failure, "records"), Rest(REST_SECONDS))
        self._versions = OptionalPart("versions in other languages", partial(on_failure, "records"), Rest(REST_SECONDS))
        self._sentences = FirstSentences(stores, on_failure)

    async def of(
        self,
        pages: Sequence[PageHits],
        visible: Visible,
        deadline: Deadline,
        trace: Trace,
        *,
        is_phrase: bool,
        frame: frozenset[UUID] = frozenset(),
    ) -> Extras:
        """Return the extras of these pages, within a short time. Below a phrase, only what has the phrase is shown.

        `frame` has the statements that are lines of a site's frame: a page with nothing else shows its first sentence.
        """
        if not pages:
            return Extras({})
        ids = [page.page_id for page in pages]
        with trace.timed("similar_ms"):
            similar, facts, sentences = await asyncio.gather(
                self._read_similar(ids, visible, deadline, trace),
                self._facts.read(partial(self._stores.normalized, ids, visible=visible), deadline.for_similar()),
                self._sentences.of(() if is_phrase else pages, visible, deadline, frame),
            )
            versions = await self._read_versions(facts or {}, visible, deadline)
        return Extras(similar, facts or {}, versions, sentences)

    async def _read_versions(
        self, facts: Mapping[UUID, Normalized], visible: Visible, deadline: Deadline
    ) -> Mapping[UUID, Sequence[Normalized]]:
        """Return the versions of pages in other languages. Few pages have some: for others nothing is read."""
        named = {page: [page_id(url) for url in part.alternates.values()] for page, part in facts.items()}
        wanted = dict.fromkeys(each for ids in named.values() for each in ids if each not in facts)
        read = partial(self._stores.normalized, list(wanted)[:MAX_VERSIONS], visible=visible)
        others = (await self._versions.read(read, deadline.for_similar()) if wanted else None) or {}
        known = {**others, **facts}
        return {
            page: [
                known[each] for each in dict.fromkeys(ids) if each in known and _are_versions(facts[page], known[each])
            ]
            for page, ids in named.items()
            if ids
        }

    async def _read_similar(
        self, pages: Sequence[UUID], visible: Visible, deadline: Deadline, trace: Trace
    ) -> Groups | None:
        """Return the duplicates of each page that has some, the shortest address first; None if none could be read."""
        read = partial(self._stores.groups, pages, MAX_SIMILAR, visible=visible)
        on_missing = trace.missing("similar", "The store of similar pages %(why)s; similar pages are not listed.")
        found = await self._similar.read(read, deadline.for_similar(), on_missing)
        if found is None:
            return None
        return {page: sorted(others, key=lambda other: (len(other.url), other.url)) for page, others in found.items()}


def _are_versions(one: Normalized, other: Normalized) -> bool:
    """Return whether each of two pages names the other one as its version in another language."""
    is_other = primary(one.language) != primary(other.language)
    return is_other and other.refused is None and bool(one.family) and one.family == other.family


class FirstSentences:
    """The reader of first sentences. Each process has one reader, which remembers its failures."""

    def __init__(self, stores: SeenStores, on_failure: OnFailure) -> None:
        self._stores = stores
        self._part = OptionalPart("first sentences", partial(on_failure, "vectors"), Rest(REST_SECONDS))

    async def of(
        self, pages: Sequence[PageHits], visible: Visible, deadline: Deadline, frame: Collection[UUID] = ()
    ) -> Mapping[UUID, Hit]:
        """Return the first sentence of each page without a statement that makes sense by itself, if it has one."""
        wanted = [page.page_id for page in pages if not any(_may_be_shown(hit, frame) for hit in page.hits)]
        if not wanted:
            return {}
        read = partial(self._stores.first_statements, wanted, MAX_ORDINAL, visible=visible)
        return choose_first_sentences(await self._part.read(read, deadline.for_similar()) or (), frame)


def choose_first_sentences(statements: Sequence[Hit], frame: Collection[UUID] = ()) -> dict[UUID, Hit]:
    """Return the first sentence of each page. A text on several of the pages says nothing about any of them.

    Above the foot of the page, a short sentence is better than a long one below it: "We welcome your reports."
    """
    pages = Counter(text for _, text in {(hit.payload.page_id, hit.payload.text) for hit in statements})
    long, short, below = dict[UUID, Hit](), dict[UUID, Hit](), dict[UUID, Hit]()
    feet = set[UUID]()
    for hit in sorted(statements, key=lambda hit: hit.payload.ordinal):
        page = hit.payload.page_id
        if hit.payload.ordinal >= MIN_FOOT_ORDINAL and is_of_each_page(hit.payload.text):
            feet.add(page)
        if pages[hit.payload.text] > 1 or not _is_real_sentence(hit, frame):
            continue
        is_long = word_count(hit.payload.text) >= MIN_SENTENCE_WORDS
        if page in feet:
            if is_long:
                below.setdefault(page, hit)
        else:
            (long if is_long else short).setdefault(page, hit)
    return below | short | long


def show_first_sentences(
    pages: Sequence[PageHits], sentences: Mapping[UUID, Hit], frame: Collection[UUID] = ()
) -> Iterator[PageHits]:
    """Yield the pages. A page with a first sentence here shows only that, with the score of its best statement.

    A page without one, on which only entries of a list of other pages matched, shows them with a lead-in.
    """
    for page in pages:
        sentence = sentences.get(page.page_id)
        if sentence is not None:
            yield replace(page, hits=(replace(sentence, score=page.hits[0].score),))
        elif any(_may_be_shown(hit, frame) for hit in page.hits):
            yield page
        else:
            yield replace(page, hits=tuple(map(_introduce, _drop_notices(_replace_doubtful(page.hits)))))


def _replace_doubtful(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the statements that readers of the page surely see; without any, the title in place of the first one."""
    sure = [hit for hit in hits if not hit.payload.doubtful]
    if sure or not hits:
        return sure
    row = hits[0].payload.row()
    row |= {"text": row.get("title") or row["url"], "context": [], "before": "", "kind": "heading"}
    return [replace(hits[0], payload=StatementPayload.of_row(row))]


def _drop_notices(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the statements without notices and rows of links, or all if there is nothing else."""
    others = [
        hit
        for hit in hits
        if not is_of_each_page(hit.payload.text) and not is_navigation(hit.payload.text, hit.payload.kind)
    ]
    return others or hits


def _introduce(hit: Hit) -> Hit:
    """Return an entry of a list of other pages with a lead-in; other statements as they are."""
    payload = hit.payload
    is_list_of_others = payload.kind in {"link", "list"} or is_line_of_contents(payload.text, payload.kind)
    if not is_list_of_others or (payload.context and payload.context[-1].endswith(_LEAD_ENDS)):
        return hit
    row = payload.row() | {"context": [*payload.context, LEAD_OF_LIST]}
    return replace(hit, payload=StatementPayload.of_row(row))


def _may_be_shown(hit: Hit, frame: Collection[UUID]) -> bool:
    """Return whether no sentence needs to be read: a line of prose without an end mark is a title, if its page has any
    real sentence."""
    if hit.payload.kind in PARTS:
        return _makes_sense(hit, frame)
    return _is_quotable(hit, frame) and is_complete(hit.payload.text, hit.payload.kind, hit.payload.context)


def _makes_sense(hit: Hit, frame: Collection[UUID]) -> bool:
    """Return whether a reader of results learns something by the statement itself."""
    return _is_quotable(hit, frame) and reads_alone(hit.payload.text, hit.payload.kind, hit.payload.context)


def _is_quotable(hit: Hit, frame: Collection[UUID]) -> bool:
    """Return False for a line of a site's frame, and for a text that readers of the page may not see."""
    return hit.id not in frame and not hit.payload.doubtful


def _is_real_sentence(hit: Hit, frame: Collection[UUID]) -> bool:
    text = hit.payload.text.strip()
    return hit.payload.kind == "sentence" and is_sentence(text) and _makes_sense(hit, frame)
