"""The whole build of suggestions: map tasks read the index and the counts of queries, reduce tasks write the lists.

    task                      reads                                   writes
    map, pages, part          a part of the ring of pages             the sums of each shard, of texts and of words
    map, queries, day         the counts of a day                     the sums of each shard
    map, entities             the names of all entities               the sums of each shard
    reduce, shard             the sums of the shard, of all parts     the lists of prefixes of three characters or more,
                                                                      and for gateways the heaviest suggestions, and
                                                                      the words that queries may be corrected to
    finish                    what the reduce tasks returned          the lists of shorter prefixes, the build's name;
                                                                      it removes the titles of pages that were new

A task gets the stores, the job and a number, and everything else is in the stores. So tasks may run anywhere, in any
order, and twice: in this process, in several, or on the machines of a cluster (`streams.commands.operate.suggest`).
Gateways read the former build until `finish` has written the name of this one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from streams.crawl.domains import is_page_below
from streams.errors import MissingBlob, PoisonError
from streams.knowledge.points import read_record
from streams.maintenance.reindexing import PARTS, SCANNED_PAGES, part_tokens
from streams.pages.document.consent import Consent
from streams.queries.counts import quarter_of, sum_days
from streams.queries.spelling.words import LANGUAGE
from streams.queries.suggestions.block_words import BlockedWords
from streams.queries.suggestions.build_notes import current_build, hand_on, hidden_texts, hide_again, note_build
from streams.queries.suggestions.normal_form import normalize_query
from streams.queries.suggestions.page_texts import heading_texts, is_chosen, name_texts, title_text
from streams.queries.suggestions.page_words import (
    MAX_CHOSEN_WORDS,
    WordSums,
    add_words,
    choose_words,
    pack_words,
    page_words,
    site_of,
    unpack_words,
)
from streams.queries.suggestions.prefix_lists import KEPT, LENGTHS, best, rows_of
from streams.queries.suggestions.sums import (
    SHARD_CHARS,
    SHARDS,
    Sum,
    Sums,
    add_to,
    of_host,
    own_host,
    pack_sums,
    shard_of,
    suggestions_of,
    unpack_sums,
)
from streams.seen.stores import SeenSuggestions
from streams.statements.statement import PageStatements, decode_statements
from streams.stores.opener import Stores
from streams.stores.protocols import (
    KEPT_DAYS,
    PrefixRow,
    StoredSuggestion,
    StoredWord,
    Suggestions,
    Visible,
    private_hosts,
)
from streams.stores.rows import pack_list
from streams.vectors.page_records import indexed_page

IN_MEMORY = 1_000_000
"""Maximum number of suggestions of a build that gateways hold in memory: 45 MB. Others are read from Cassandra."""
MAX_QUERIES = 1_000_000
"""Maximum queries of a day that are read."""
MAX_SUMS = 200_000
"""Number of texts, and of words, in memory above which a map task hands on its sums."""
WRITTEN_AT_ONCE = 2_000
_SHORT, _LONG = range(SHARD_CHARS), range(SHARD_CHARS, max(LENGTHS) + 1)
"""Lengths of the prefixes whose lists `finish` writes, and of those that the reduce tasks write."""
ENTITIES = PARTS + KEPT_DAYS
"""The number of the map task that reads the entities."""
MAP_NUMBERS = range(ENTITIES + 1)
"""The numbers of the map tasks: parts of the ring of pages, then days, then the entities."""
READ_ENTITIES = 200
"""Number of entities that are read at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """One build."""

    name: str
    now: datetime
    blocked: tuple[str, ...] = ()
    """The lines of the block list."""
    in_memory: int = IN_MEMORY
    """Maximum suggestions that gateways hold in memory."""
    word_sites: int = 3
    """Minimum number of sites that have a word which queries may be corrected to."""

    @property
    def at(self) -> int:
        return int(self.now.timestamp() * 1_000_000)


@dataclass(frozen=True, slots=True)
class Reduced:
    """The outcome of a reduce task."""

    suggestions: int
    short: tuple[PrefixRow, ...]
    """Candidates for the lists of prefixes that are shorter than the beginning that decides the shard."""


async def run_map(stores: Stores, job: Job, number: int) -> int:
    """Run a map task. Returns the number of pages, queries or entities that were read."""
    if number == ENTITIES:
        return await _map_entities(stores, job)
    if number >= PARTS:
        return await _map_queries(stores, job, number)
    return await _map_pages(stores, job, number)


async def run_reduce(stores: Stores, job: Job, shard: int) -> Reduced:
    store, blocked = stores.suggestions, BlockedWords(job.blocked)
    word_sums = unpack_words(await store.parts(job.name, "word sums", shard))
    words = choose_words(word_sums, job.word_sites, blocked.blocks, -(-MAX_CHOSEN_WORDS // SHARDS))
    await store.put_part(job.name, "words", shard, "", pack_list(words))
    sums = unpack_sums(await store.parts(job.name, "sums", shard))
    found = suggestions_of(sums, quarter_of(job.now), blocked)
    rows = [row for each in found for row in rows_of(each)]
    await _write(store, _best_rows(row for row in rows if len(row.prefix) >= SHARD_CHARS), job)
    hidden = [each for each in await hidden_texts(store, await current_build(store)) if shard_of(each[1]) == shard]
    shown = {(each.language, each.text) for each in found}
    await hide_again(store, hidden, shown, _LONG, job.at)
    await store.put_part(job.name, "list", shard, "", pack_list(found[: -(-job.in_memory // SHARDS)]))
    return Reduced(len(found), tuple(_best_rows(row for row in rows if len(row.prefix) < SHARD_CHARS)))


async def finish(stores: Stores, job: Job, reduced: Sequence[Reduced]) -> int:
    """End a build. Returns the number of its suggestions."""
    store = stores.suggestions
    await _write(store, _best_rows(row for each in reduced for row in each.short), job)
    former = await current_build(store)
    shown = {(row.suggestion.language, row.suggestion.text) for each in reduced for row in each.short}
    await hide_again(store, await hidden_texts(store, former), shown, _SHORT, job.at)
    await note_build(store, job.name, job.at)
    await store.drop_titles(job.at)  # the pages were searchable when the build began, so it has their titles
    if former != job.name:
        await hand_on(store, former, job.name, job.at)
        await store.drop_parts(former, "hidden", 0)
        for shard in range(SHARDS if former else 0):
            await store.drop_parts(former, "list", shard)
            await store.drop_parts(former, "words", shard)
    for shard in range(SHARDS):
        await store.drop_parts(job.name, "sums", shard)
        await store.drop_parts(job.name, "word sums", shard)
    return sum(each.suggestions for each in reduced)


async def read_build(store: SeenSuggestions, build: str, *, visible: Visible) -> list[StoredSuggestion]:
    """Return the suggestions of a build that gateways hold in memory."""
    return [each for shard in range(SHARDS) for each in await store.built(build, shard, visible=visible)]


async def read_words(store: SeenSuggestions, build: str, *, visible: Visible) -> list[StoredWord]:
    """Return the words of a build that queries may be corrected to."""
    return [word for shard in range(SHARDS) for word in await store.words(build, shard, visible=visible)]


async def _map_pages(stores: Stores, job: Job, part: int) -> int:
    after, last = part_tokens(part)
    sums: Sums = {}
    words: WordSums = {}
    pages = chunk = 0
    private = private_hosts(await stores.api_keys.sites())
    while found := await stores.pages.scan(after, last, SCANNED_PAGES):
        after = found[-1][0]
        for _, page_id in found:
            page = await _read_page(stores, page_id, private)
            if page is not None:
                pages += 1
                statements, host = page[:2]
                add_page(sums, *page[:3], is_chosen=page[3])
                if statements.language == LANGUAGE:
                    add_words(words, page_words(statements), site_of(host, job.name))
        if max(len(sums), len(words)) > MAX_SUMS:
            await _hand_on(stores.suggestions, job, f"{part}.{chunk}", sums, words)
            sums, words, chunk = {}, {}, chunk + 1
    await _hand_on(stores.suggestions, job, f"{part}.{chunk}", sums, words)
    return pages


async def _read_page(
    stores: Stores, page_id: UUID, private: Sequence[str]
) -> tuple[PageStatements, str, Consent, bool] | None:
    """Return the statements of a page that searches show, its host, what may be quoted, and whether it is chosen.

    Pages of private sites have no part in suggestions, which anybody reads.
    """
    record = await stores.pages.get(page_id)
    page = indexed_page(page_id, record)
    if page is None or not page.statements_ref or is_page_below(page.url, private):
        return None
    try:
        statements = decode_statements(await stores.blobs.get(page.statements_ref))
    except (MissingBlob, PoisonError):  # it was erased meanwhile, or is damaged: the page has no part in suggestions
        return None
    host = page.url.partition("://")[2].partition("/")[0]
    return statements, host, Consent.of_directives(record.normalized.directives), is_chosen(record)


def add_page(sums: Sums, page: PageStatements, host: str, consent: Consent, *, is_chosen: bool) -> None:
    """Add the texts of a page. Its title is shown with each result; headings are quotations."""
    hosts = of_host(host)
    chosen = own_host(host) if is_chosen else ()
    title = title_text(page.title)
    if title:
        add_to(sums, (page.language, title), Sum(titles=1, hosts=hosts, chosen=chosen))
    headings = {text for text in heading_texts(page) if consent.allows_quoting(len(text))} - {title}
    for text in headings:
        add_to(sums, (page.language, text), Sum(headings=1, hosts=hosts, chosen=chosen))
    for text in name_texts({title, *headings}, page.language) - headings - {title}:
        add_to(sums, (page.language, text), Sum(names=1, hosts=hosts, chosen=chosen))


async def _map_queries(stores: Stores, job: Job, number: int) -> int:
    day = quarter_of(job.now) // 96 - (number - PARTS)
    sums: Sums = {}
    queries = await stores.query_counts.of_day(day, MAX_QUERIES)
    for each in queries:
        counts = sum_days({day: each.counts}, job.now)
        # A query that never has a result leads nowhere.
        share = 1 - each.counts.empty / max(each.counts.asked, 1)
        found = Sum(count=counts.total * share, recent=counts.recent * share)
        if share > 0 and (text := normalize_query(each.query)):
            add_to(sums, (each.language, text), found)
    await _hand_on(stores.suggestions, job, f"day {day}", sums)
    return len(queries)


async def _map_entities(stores: Stores, job: Job) -> int:
    """Read the labels of all entities: the own one, whose language is not known, and one for each language."""
    sums: Sums = {}
    former: set[str] = set()
    position: int | None = 0
    chunk = count = 0
    while position is not None:
        places, position = await stores.entities.walk(position, READ_ENTITIES)
        # The parts of an entity stand together, so its second batch is the next one.
        ids = {place.entity_id for place in places}
        for stored in (await stores.entities.get(sorted(ids - former))).values():
            count += _add_entity(sums, stored.record)
        former = ids
        if len(sums) > MAX_SUMS:
            await _hand_on(stores.suggestions, job, f"entities.{chunk}", sums)
            sums, chunk = {}, chunk + 1
    await _hand_on(stores.suggestions, job, f"entities.{chunk}", sums)
    return count


def _add_entity(sums: Sums, record: bytes) -> bool:
    """Add the labels of an entity. Returns False for a record that is no entity of its own, or is damaged."""
    try:
        entity = read_record(record)
    except PoisonError:
        return False
    text = normalize_query(entity.label)
    if entity.kind != "entity" or entity.redirect or not text:
        return False
    add_to(sums, ("", text), Sum(entities=1 + entity.rank))
    for language, label in entity.labels.items():  # an empty one is the own label
        if translated := normalize_query(label):
            add_to(sums, (language, translated), Sum(entities=1 + entity.rank))
    return True


async def _hand_on(store: Suggestions, job: Job, part: str, sums: Sums, words: WordSums | None = None) -> None:
    for shard, value in pack_sums(sums).items():
        await store.put_part(job.name, "sums", shard, part, value)
    for shard, value in pack_words(words or {}).items():
        await store.put_part(job.name, "word sums", shard, part, value)


def _best_rows(rows: Iterable[PrefixRow]) -> list[PrefixRow]:
    """Return the rows that stay in their lists. The rows of a list stand together."""
    lists: dict[tuple[str, str], dict[str, StoredSuggestion]] = {}
    for row in rows:
        known = lists.setdefault((row.language, row.prefix), {})
        former = known.get(row.suggestion.text)
        if former is None or former.weight < row.suggestion.weight:
            known[row.suggestion.text] = row.suggestion
    return [
        PrefixRow(language, prefix, each)
        for (language, prefix), known in lists.items()
        for each in best(known.values(), max(one.quarter for one in known.values()), KEPT)
    ]


async def _write(store: Suggestions, rows: Sequence[PrefixRow], job: Job) -> None:
    """Replace lists, whole ones at a time."""
    start = 0
    while start < len(rows):
        end = min(start + WRITTEN_AT_ONCE, len(rows))
        while end < len(rows) and _list_of(rows[end]) == _list_of(rows[end - 1]):
            end += 1
        await store.replace(rows[start:end], job.at)
        start = end


def _list_of(row: PrefixRow) -> tuple[str, str]:
    return row.language, row.prefix


assert SHARD_CHARS in LENGTHS
