"""The seeds of `riffle crawl`, as people name them."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from schemas import PageDiscovered
from streams import crawl
from streams.allowed_origins import NO_ORIGINS, AllowedOrigins, origin_of
from streams.charset import decode
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import UsageError
from streams.lines.bounded import read_whole

FIRST_SEEDS = Path(crawl.__file__).with_name("first_seeds.txt")
MAX_FAULTS = 20
"""Maximum number of seeds that can't be crawled that are named."""
MAX_SHOWN_CHARS = 200
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.DOTALL)
_AROUND = " \t\r\n\f\v\ufeff\u200b\xa0"
"""Characters around a seed that are no part of it: white space, and what editors and web pages leave behind."""


def read_seeds(urls: Sequence[str], file: Path | None, origins: AllowedOrigins = NO_ORIGINS) -> list[str]:
    """Return the seeds of the arguments and of the lines of a file, in whatever encoding an editor wrote it.

    What follows a `#` at the begin of a line or behind white space is a comment. Raises UsageError, which names all
    seeds that can't be crawled, each with the number of its line.
    """
    listed = dict(_seeds_in(decode(read_whole(file)))) if file else {}
    faults = [_fault_of(url, origins) for url in urls]
    faults += [fault and f"line {n}: {fault}" for n, url in listed.items() for fault in (_fault_of(url, origins),)]
    if named := list(filter(None, faults)):
        more = [f"{len(named) - MAX_FAULTS} more"] if len(named) > MAX_FAULTS else []
        raise UsageError("\n".join(named[:MAX_FAULTS] + more))
    if not (found := list(dict.fromkeys([*urls, *listed.values()]))):
        raise UsageError("name the seeds, as in `riffle crawl https://example.org/`, or a file of them with --seeds")
    return found


def first_seeds() -> list[str]:
    """Return the seeds for an index that has none (`streams/crawl/first_seeds.txt`)."""
    return [url for _, url in _seeds_in(FIRST_SEEDS.read_text(encoding="utf-8"))]


def _seeds_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the seeds of a text, each with the number of its line."""
    for number, line in enumerate(text.splitlines(), 1):
        if seed := _COMMENT.sub("", line).strip(_AROUND):
            yield number, seed


def _fault_of(url: str, origins: AllowedOrigins) -> str:
    """Return why a seed can't be crawled; empty if it can."""
    try:
        with_scheme(url, origins)
    except InvalidUrl as error:
        return f"{url[:MAX_SHOWN_CHARS]!r} can't be crawled: {error}"
    return ""


def describe_rewritten(typed: Sequence[str], seeds: Sequence[PageDiscovered]) -> str:
    """Return a line about the seeds that were typed with http:// and are crawled with https://; empty if there is none.

    `typed`: the seeds as a person wrote them, in the order of `seeds`.
    """
    plain, secure = "http://", "https://"
    rewritten = [
        (text, one.url)
        for text, one in zip(typed, seeds, strict=True)
        if text.lower().startswith(plain) and one.url.startswith(secure)
    ]
    if not rewritten:
        return ""
    text, url = rewritten[0]
    which = f"{text} is" if len(rewritten) == 1 else f"{len(rewritten)} seeds with http:// are"
    name = origin_of(url).replace(secure, plain, 1)
    where = f"as {url}" if len(rewritten) == 1 else f"with https://, such as {url}"
    return f"{which} crawled {where}. To keep http: RIFFLE_CRAWL__ALLOWED_ORIGINS='[\"{name}\"]'"
