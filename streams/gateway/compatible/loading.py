"""The texts of several pages for one request: of the index, or fetched now where the operator allows it.

Pages of the index are read a few at a time. A client has one page fetched at a time, so those are fetched one by one,
until the time of the request is over.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from streams.gateway.access.bucket import PAGE
from streams.gateway.access.guard import Charge
from streams.gateway.content.answers import Extract
from streams.gateway.content.extracting import Extracting
from streams.gateway.content.markdown import text_for_models
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter
from streams.pages.document.consent import Consent

MAX_PAGES = 20
"""Maximum pages of a request, as Tavily has it."""
MAX_URL_CHARS = 2_048
MAX_CHARS = 100_000
"""Maximum characters of a page's text."""
AT_ONCE = 4
"""Maximum pages of the index that one request reads at the same time."""
LOAD_SECONDS = 60.0
"""Time after which no further page of a request is begun (seconds)."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The text of a page, or why there is none."""

    asked: str
    """The address as it was asked for."""
    url: str = ""
    title: str = ""
    language: str = ""
    text: str = field(default="", repr=False)
    """Markdown; empty: see `failure`."""
    failure: str = ""


class PageLoader:
    """The loader of one gateway process."""

    def __init__(self, extracting: Extracting) -> None:
        self._extracting = extracting

    async def load(self, urls: Sequence[str], charge: Charge, *, fetch: bool = True) -> list[Loaded]:
        """Return the pages in the order of their addresses. Raises ProblemError for too many of them."""
        if len(urls) > MAX_PAGES:
            detail = f"urls has {len(urls)} addresses; at most {MAX_PAGES} are read."
            raise ProblemError(invalid_parameter("urls", detail, "Send them in several requests."))
        wanted = list(dict.fromkeys(urls))
        if len(wanted) > 1:
            charge.spend(PAGE * len(wanted))  # the first one was paid for when the request began
        slots, deadline = asyncio.Semaphore(AT_ONCE), asyncio.get_running_loop().time() + LOAD_SECONDS

        async def of_index(url: str) -> Loaded | Problem:
            async with slots:
                return await self._load(url, charge, fetch=False)

        found = dict(zip(wanted, await asyncio.gather(*map(of_index, wanted)), strict=True))
        if fetch and self._extracting.may_fetch(charge):
            for url, page in found.items():
                missing = isinstance(page, Problem) and page.kind in ("unknown-page", "no-content")
                if missing and asyncio.get_running_loop().time() < deadline:
                    found[url] = await self._load(url, charge, fetch=True)
        return [_loaded(url, found[url]) for url in wanted]

    async def _load(self, url: str, charge: Charge, *, fetch: bool) -> Loaded | Problem:
        if len(url) > MAX_URL_CHARS:
            return invalid_parameter("urls", f"An address has more than {MAX_URL_CHARS:,} characters.")
        try:
            return _read(url, await self._extracting.extract(url, charge, fetch=fetch))
        except ProblemError as error:
            return error.problem


def _read(asked: str, page: Extract) -> Loaded:
    consent = Consent.of_directives(page.directives)
    text = text_for_models(page.document.model_dump(), consent)[:MAX_CHARS]
    if consent.kept_from_models:
        failure = f"Its publisher keeps it from language models ({', '.join(consent.kept_from_models)})."
    else:
        failure = "" if text else "The page has no text."
    return Loaded(asked, page.url, page.document.title, page.document.language, text, failure)


def _loaded(url: str, found: Loaded | Problem) -> Loaded:
    if isinstance(found, Loaded):
        return found
    return Loaded(url, failure=" ".join(filter(None, (f"{found.title}.", found.detail))))
