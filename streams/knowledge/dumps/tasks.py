"""Tasks over items of dumps. They run in killable processes (`streams.sandbox`), bytes in and bytes out.

A task gets some items at once, and returns a row for each one that is of interest:

    entity_id, source, part, alias

`part` is the part as JSON, or empty for an alias.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgpack
import orjson

from streams.errors import Refused
from streams.knowledge.entity import Part
from streams.knowledge.own import read_own
from streams.knowledge.wikidata.items import item_id, to_part
from streams.knowledge.wikipedia.articles import to_article
from streams.knowledge.wikipedia.xml_page import NotAPage, read_page

ITEMS = "streams.knowledge.dumps.tasks:read_items"
PAGES = "streams.knowledge.dumps.tasks:read_pages"
OWN = "streams.knowledge.dumps.tasks:read_own_lines"
TASKS = (ITEMS, PAGES, OWN)
MAX_ITEMS_OF_LINE = 20_000
"""Maximum items of an array on one line."""
_NO_JSON = "not JSON"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one item."""

    entity_id: str
    source: str
    part: bytes = b""
    alias: str = ""
    lost: tuple[str, ...] = ()
    """Templates of its article that left a hole. They are counted with the other rows, and not in the row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of some items, and the number of items without one by reason."""

    rows: tuple[Row, ...]
    skipped: Mapping[str, int]
    lost: Mapping[str, int] = field(default_factory=dict)
    """The number of articles that lost a sentence by a template, by its name."""


def pack_items(language: str, items: Sequence[bytes], day: str = "") -> bytes:
    """Return the payload of a task. `day`: the day of the dump, such as `2024-05-01`."""
    packed: bytes = msgpack.packb([language, list(items), day])
    return packed


def read_answer(answer: bytes) -> Rows:
    rows, skipped, lost = msgpack.unpackb(answer, raw=False)
    return Rows(tuple(Row(*row) for row in rows), skipped, lost)


_RICH_PAGE = (
    "<page><title>A</title><ns>0</ns><id>1</id><revision><text>{{lang|fr|'''é'''}} &lt;ref name=x /&gt; [[b|c]] "
    "&amp;nbsp;{{{1}}} [http://a.example d] &lt;!-- e --&gt; &lt;i&gt;f&lt;/i&gt;\n* g\n; h : i\n"
    "{| class=j\n|-\n! k\n| l\n|}\n"
    "Words of a sentence that is long enough.\n== m ==\n</text></revision></page>"
)
"""A page with each kind of node."""


def warm_up() -> None:
    """Load what parsing needs before the limits are set: the table of properties, and the parser's modules, some of
    which it imports late."""
    from mwparserfromhell.parser import contexts, tokenizer  # noqa: F401  # they are imported late

    read_pages(pack_items("en", [_RICH_PAGE.encode()]))
    to_part(
        {"id": "Q1", "type": "item", "labels": {"en": {"value": "x"}}, "descriptions": {"en": {"value": "x"}}}, "en"
    )


def read_items(payload: bytes) -> bytes:
    """Return the rows of items of Wikidata: lines of JSON."""
    return _read(payload, lambda line, language, day: (_row_of_item(item, language, day) for item in _items_of(line)))


def read_pages(payload: bytes) -> bytes:
    """Return the rows of pages of a Wikipedia: `<page>` elements."""
    return _read(payload, lambda content, language, _: [_row_of_page(content, language)])


def read_own_lines(payload: bytes) -> bytes:
    """Return the rows of own entities: lines of JSON."""
    return _read(payload, lambda line, *_: [_row_of_own_line(line)])


def _read(payload: bytes, rows_of: Callable[[bytes, str, str], Iterable[Row | str]]) -> bytes:
    """Return the rows of all items, and how many have none, by the reason that `rows_of` gives in place of a row."""
    language, items, day = msgpack.unpackb(payload, raw=False)
    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    for item in items:
        for row in rows_of(item, language, day):
            if isinstance(row, Row):
                rows.append(row)
            else:
                skipped[row] += 1
    return _pack(rows, skipped, Counter(name for row in rows for name in row.lost))


def _items_of(line: bytes) -> Iterator[Any]:
    """Yield the items of a line: one, an array of them, or the answer of Wikidata's own API (`entities`)."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            value = orjson.loads(line.lstrip(b"[").rstrip(b"],"))
        except orjson.JSONDecodeError:
            value = None
    if isinstance(value, dict) and isinstance(value.get("entities"), dict):
        value = list(value["entities"].values())
    yield from value[:MAX_ITEMS_OF_LINE] if isinstance(value, list) else [value]


def _row_of_item(item: Any, language: str, day: str) -> Row | str:
    """Return the row of an item, or why it has none."""
    if not isinstance(item, Mapping):
        return "no readable item"
    identity = item_id(item)
    if not identity:
        return "no item"
    part = to_part(item, language, day)
    return _row(identity, "wikidata", part) if part else "no panel"


def _row_of_page(content: bytes, language: str) -> Row | str:
    """Return the row of a page, or why it has none."""
    try:
        article = to_article(read_page(content), f"{language}wiki", language)
    except NotAPage:
        return "no readable page"
    if article is None:
        return "no article"
    if article.part is None:
        return Row(article.alias_of, f"redirect:{article.alias}", alias=article.alias)
    return replace(_row(article.entity_id, "wikipedia", article.part), lost=article.lost)


def _row_of_own_line(line: bytes) -> Row | str:
    """Return the row of an own entity, or what is wrong with its line."""
    try:
        entity_id, part = read_own(orjson.loads(line))
        return _row(entity_id, "own", part) if part else Row(entity_id, "own")
    except orjson.JSONDecodeError:  # its message has a place in the line
        return _NO_JSON
    except ValueError as error:
        return str(error)[:200]


def _row(entity_id: str, source: str, part: Part) -> Row:
    content = orjson.dumps(part.model_dump(exclude_defaults=True))
    return Row(entity_id, source, content)


def _pack(rows: Iterable[Row], skipped: Mapping[str, int], lost: Mapping[str, int]) -> bytes:
    values = [[row.entity_id, row.source, row.part, row.alias] for row in rows]
    try:
        packed: bytes = msgpack.packb([values, dict(skipped), dict(lost)])
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise Refused("text", "a text is no Unicode") from error
    return packed
