"""The payload of a statement (Qdrant's name): all that the vector index stores of a statement beside its vectors.

A search gets some 2,000 payloads, and reads most fields of only a few. So a payload that was read is a view over its
row, the JSON object of the answer. A view takes 0.1 µs; a frozen dataclass of all fields takes 1.3 µs, or 2 ms of a
search. Rows of other releases are read as they are: a missing field has its default, and an unknown field stays in the
row.

    field       type            in the row
    page_id     UUID            string
    url         str
    host        str             host and port of the URL
    sites       tuple[str]      list; missing if empty. The domains above the host
    title       str
    text        str             the statement
    context     tuple[str]      list, the widest first; a single string in rows of other writers
    language    str             BCP 47; empty: not known
    published   str             ISO date; missing if it is not known
    page_type   str             schema.org's name, such as `Recipe`; missing if it is not known
    day         int             `published` as a number (`day_of`)
    extension   str             the type of the file, or the extension of the URL's file name (`extension_of`); missing
                                likewise
    quality     float           the quality of the page, from 0 to 1; missing if it is 1 or not known
    page        int             the number of the page of a file, as in `#page=3`; missing in web pages
    anchor      str             the anchor of the term or heading that it is below, as in `#checkpoints`; missing if
                                there is none
    ordinal     int             the place of the statement in its page
    kind        str             what the statement was made from, such as `sentence`
    entry       bool            an entry of a page that holds little but entries, such as the index of a book; missing
                                if it is none
    doubtful    bool            readers of the page may not see it; missing if they surely do
    before      str             the sentence before a short one, for readers; missing if there is none
    around      tuple[str]      list: the words before and after it in its block, where an earlier statement of the
                                page begins with or has its first words; missing in all others
    `alone`     int             how surely it stands by itself (`statements.standing`), 1 to 255; missing if not judged
    generation  int             the fetch of the page
    audience    str             the private sites whose keys find the page; missing if everybody finds it
    family      str             the name of the set of the page's versions in other languages; missing if it names none

The first statement of a page also has facts that pages are counted by:

    left_out    int             statements beyond the bound of a page; missing if there are none
    made_STAGE  int             the version of each stage whose result is in the page (`topology`)
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

Row = Mapping[str, Any]
MADE = "made_"
"""Beginning of the names of the facts that say by which version of a stage a page was made."""
MAX_ALONE = 255
"""The number of a statement that surely stands by itself. 0 is no number of a statement."""
_new = object.__new__


def _text(name: str) -> Any:
    """Return a property with the text of this name in the row; empty if there is none."""
    return property(lambda payload: str(payload._row.get(name) or ""))


def _integer(name: str) -> Any:
    """Return a property with the integer of this name in the row; 0 if there is none."""
    return property(lambda payload: value if isinstance(value := payload._row.get(name), int) else 0)


class Place(NamedTuple):
    """The place of a statement in its page."""

    page: int = 0
    """The number of the page of a file, from 1; 0 if there is none."""
    anchor: str = ""
    before: str = ""
    """The words right before it, if its own words stand earlier in the page, too."""
    after: str = ""
    is_repeated: bool = False
    """True if its own words stand earlier in the page."""

    @property
    def section(self) -> "Place":
        """The place of the heading above it."""
        return Place(self.page, self.anchor)


NO_PLACE = Place()
"""The place of a text about whose place nothing is known."""


class StatementPayload:
    """The stored facts of one statement, which never change. Payloads with equal rows are equal."""

    __slots__ = ("_row",)

    def __init__(
        self,
        *,
        page_id: UUID,
        url: str,
        host: str,
        sites: Sequence[str],
        title: str,
        text: str,
        context: Sequence[str],
        language: str,
        published: str,
        page_type: str,
        file_type: str = "",
        page: int = 0,
        anchor: str = "",
        quality: float = 1.0,
        ordinal: int,
        kind: str,
        entry: bool = False,
        doubtful: bool = False,
        before: str = "",
        around: Sequence[str] = (),
        alone: int = 0,
        left_out: int = 0,
        made: Sequence[tuple[str, int]] = (),
        generation: int,
        audience: str = "",
        family: str = "",
    ) -> None:
        self._row: Row = {
            "text": text,
            "context": list(context),
            "ordinal": ordinal,
            "kind": kind,
            "page_id": str(page_id),
            "url": url,
            "title": title,
            "language": language,
            "host": host,
            "generation": generation,
            "day": day_of(published),
            "extension": file_type or extension_of(url),
            **({"sites": list(sites)} if sites else {}),
            **({"published": published} if published else {}),
            **({"page_type": page_type} if page_type else {}),
            **({"page": page} if page else {}),
            **({"anchor": anchor} if anchor else {}),
            **({"quality": quality} if quality < 1 else {}),
            **({"entry": True} if entry else {}),
            **({"doubtful": True} if doubtful else {}),
            **({"before": before} if before else {}),
            **({"around": list(around)} if around else {}),
            **({"alone": alone} if alone else {}),
            **({"audience": audience} if audience else {}),
            **({"family": family} if family else {}),
            **({"left_out": left_out} if left_out else {}),
            **{f"{MADE}{stage}": version for stage, version in made},
        }

    @staticmethod
    def of_row(row: Row) -> "StatementPayload":
        """Return the payload of this row. The row must not be changed afterwards."""
        payload = _new(StatementPayload)  # a class method that calls `cls.__new__` takes twice the time
        payload._row = row
        return payload

    def row(self) -> dict[str, Any]:
        """Return the row as it was read, or as it is to be stored. JSON can hold its values."""
        return dict(self._row)

    @property
    def page_id(self) -> UUID:
        """The id of the page. Every row that Riffle wrote has an id; a row without an id raises KeyError."""
        return id_of(self._row["page_id"])

    @property
    def page_key(self) -> str:
        """The id of the page as text, which is faster as a key than a UUID: a string keeps its hash."""
        return str(self._row["page_id"])

    url: str = _text("url")
    host: str = _text("host")
    title: str = _text("title")
    text: str = _text("text")
    language: str = _text("language")
    published: str = _text("published")
    page_type: str = _text("page_type")
    kind: str = _text("kind")
    audience: str = _text("audience")
    """The private sites whose keys find the page (`streams.crawl.audiences`); empty: everybody finds it."""
    family: str = _text("family")
    """The name of the set of the page's versions in other languages (`Normalized.family`)."""
    anchor: str = _text("anchor")
    """The anchor of the term or heading that it is below."""
    before: str = _text("before")
    """The sentence before a short one, which readers need and a search does not."""
    ordinal: int = _integer("ordinal")
    generation: int = _integer("generation")
    stands_alone: int = _integer("alone")
    """The measure how surely a reader understands the statement with its context, from 1 to 255; 0: not judged."""
    left_out: int = _integer("left_out")
    """Number of statements beyond the bound of a page, at its first statement."""
    page: int = _integer("page")
    """The number of the page of a file, from 1; 0 if the page is not known."""

    @property
    def place(self) -> "Place":
        """The place of the statement in its page, for links."""
        around = self._row.get("around")
        is_repeated = isinstance(around, list | tuple) and len(around) == 2
        before, after = map(str, around) if is_repeated and around else ("", "")
        return Place(self.page, self.anchor, before, after, is_repeated)

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple(self._row.get("sites") or ())

    @property
    def context(self) -> tuple[str, ...]:
        context = self._row.get("context") or ()
        if isinstance(context, str):
            return (context,)
        return tuple(map(str, context)) if isinstance(context, list | tuple) else ()

    @property
    def day(self) -> int:
        """The date of publication as a number: 20240503, 20240500 for a month, 20240000 for a year, 0 for none."""
        return day_of(self.published)

    @property
    def extension(self) -> str:
        """The type of the file, such as `pdf`; else the URL's extension in lower case. All web pages have `html`."""
        return str(self._row.get("extension") or "") or extension_of(self.url)

    @property
    def quality(self) -> float:
        """The quality of the page, from 0 to 1; 1 if it is not known."""
        value = self._row.get("quality", 1.0)
        return float(value) if isinstance(value, int | float) else 1.0

    @property
    def entry(self) -> bool:
        """True for an entry of a page that holds little but entries."""
        return self._row.get("entry") is True

    @property
    def doubtful(self) -> bool:
        """True if readers of the page may not see the statement: it is never quoted."""
        return self._row.get("doubtful") is True

    def __eq__(self, other: object) -> bool:
        return self._row == other._row if isinstance(other, StatementPayload) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # rows have lists

    def __repr__(self) -> str:
        return f"StatementPayload({dict(self._row)!r})"


_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?![\d-])")
_WEB_PAGES = ("", "html", "htm", "xhtml")


def day_of(published: str) -> int:
    """Return an ISO date as a number that has the order of such dates; 0 if the text is no date.

    What is stored was checked before, so nothing is checked here: each number has the order of its text.
    """
    found = _DATE.match(published)
    return int(found[1]) * 10_000 + int(found[2] or 0) * 100 + int(found[3] or 0) if found else 0


def extension_of(url: str) -> str:
    """Return the extension of the URL's file name in lower case; `html` for all forms of web pages, and without one."""
    _, _, path = url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")
    name = path.rpartition("/")[2].lower()
    extension = name.rpartition(".")[2] if "." in name else ""
    return "html" if extension in _WEB_PAGES else extension


@lru_cache(maxsize=32_768)
def id_of(text: str) -> UUID:
    """Return the id of this text, from a cache of some 10 MB: a search asks for 2,500 ids of pages and statements, and
    former searches asked for many of them."""
    return UUID(text)
