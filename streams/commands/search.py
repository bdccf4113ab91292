"""`riffle search`, `riffle page` and `riffle gateway`."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import httpx
import typer
from rich.markup import escape

from schemas import Event
from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.commands.console import EXIT_NO, JSON_OPTION, command, err, load_settings, out, print_json, table
from streams.crawl.urls import InvalidUrl, with_scheme
from streams.errors import Refused, StoreUnavailable, UsageError
from streams.settings import Settings
from streams.stores.protocols import Transition

if TYPE_CHECKING:
    from streams.pages.sandbox.explanation import Explanation

AsJson = Annotated[bool, JSON_OPTION]
CLIENT_TIMEOUT_SECONDS = 30.0
SIMILAR_SHOWN = 3


@command
def search(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="What you want to know, in your own words.")],
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many pages.")] = 5,
    host: Annotated[str | None, typer.Option(help="Only pages of this host.")] = None,
    language: Annotated[str | None, typer.Option(help="Only pages in this language (en, de, ...); * for all.")] = None,
    as_json: AsJson = False,
) -> int:
    """Ask a question, and see the statements that answer it.

    Example:  riffle search "could a crash lose my data?"
    """
    answer = ask(load_settings(), " ".join(words), limit=limit, host=host, language=language)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)
    return 0 if answer["results"] else EXIT_NO


def ask(settings: Settings, question: str, *, limit: int = 5, **filters: str | None) -> dict[str, Any]:
    """The gateway's answer. Raises StoreUnavailable, or UsageError with the gateway's reason."""
    address = f"http://{settings.gateway.host}:{settings.gateway.port}"
    given = {name: value for name, value in filters.items() if value}
    try:
        response = httpx.get(
            f"{address}/api/v1/search",
            params={"q": question, "per_page": limit, **given},
            timeout=CLIENT_TIMEOUT_SECONDS,
            trust_env=False,
        )
    except httpx.HTTPError as error:
        raise StoreUnavailable(
            f"the gateway at {address} doesn't answer ({error}). Start it with `riffle up` or `riffle gateway`"
        ) from error
    return _answer_of(response)


def _answer_of(response: httpx.Response) -> dict[str, Any]:
    try:
        answer = response.json()
        said = str(answer.get("detail", ""))
    except (ValueError, AttributeError):
        raise StoreUnavailable(
            f"what answers at {response.url.netloc.decode()} is no gateway of Riffle. Check RIFFLE_GATEWAY__PORT"
        ) from None
    if response.is_client_error:
        raise UsageError(said)
    if response.is_error:
        raise StoreUnavailable(said)
    found: dict[str, Any] = answer
    return found


def print_answer(answer: dict[str, Any]) -> None:
    """Results for people: title, address, the best statements."""
    for number, result in enumerate(answer["results"], start=1):
        out.print(f"[bold]{number}. {escape(result['title'] or result['url'])}[/]", highlight=False)
        out.print(f"   [dim]{escape(result['url'])}[/]", highlight=False, soft_wrap=True)
        for statement in result["statements"]:
            out.print(f"   {escape(statement['text'])}", highlight=False)
        if similar := result.get("similar"):
            out.print(f"   [dim]{escape(_similar(similar))}[/]", highlight=False, soft_wrap=True)
        out.print()
    if not answer["results"]:
        out.print("Nothing was found.")
    if answer.get("partial"):
        err.print(
            "[yellow]This answer is partial:[/] " + escape(" ".join(reason["detail"] for reason in answer["reasons"]))
        )


def _similar(similar: dict[str, Any]) -> str:
    """How many pages say the same, and the first of them."""
    shown = ", ".join(page["url"] for page in similar["pages"][:SIMILAR_SHOWN])
    count = f"{similar['count']}{' or more' if similar['more'] else ''}"
    etc = ", ..." if len(similar["pages"]) > SIMILAR_SHOWN else ""
    return f"{count} similar {'page' if count == '1' else 'pages'}: {shown}{etc}"


@command
async def page(
    address: Annotated[str, typer.Argument(metavar="URL", help="The page's address, or its id.")],
    document: Annotated[bool, typer.Option("--document", help="Print the semantic document.")] = False,
    removed: Annotated[bool, typer.Option("--removed", help="Print what is not in the document, and why.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show the whole life of a page: every step, its time and outcome, and what comes next.

    Examples:

        riffle page https://www.sqlite.org/atomiccommit.html
        riffle page https://www.sqlite.org/atomiccommit.html --document
        riffle page https://www.sqlite.org/atomiccommit.html --removed
    """
    from streams.stores.opener import open_stores

    settings = load_settings()
    identity, url = _identity(address)
    async with open_stores(settings, ["cassandra"]) as stores:
        if document:
            return await print_document_of(stores, identity, url)
        if removed:
            return await print_removed_of(stores, identity, url, as_json=as_json)
        history = await stores.ledger.history(identity)
    if as_json:
        print_json(life_as_json(identity, url, history))
    elif history:
        print_life(identity, url, history)
    else:
        out.print(f"Riffle has never seen {escape(url)}. Crawl it: riffle crawl URL", highlight=False, soft_wrap=True)
    return 0 if history else EXIT_NO


def life_as_json(identity: UUID, url: str, history: list[Transition]) -> dict[str, Any]:
    """The page's status, and its steps with the whole of their events' data."""
    from streams.ledger.status import next_step, status_of

    steps = [
        {**step.data, "at": utc_from_micros(step.at).isoformat(), "topic": step.topic, "outcome": step.outcome}
        for step in history
    ]
    said = {"status": status_of(history), "next_step": next_step(history)}
    return {"page_id": identity, "url": url, **said, "steps": steps}


def print_life(identity: UUID, url: str, history: list[Transition]) -> None:
    """A page's life for people: its status, each step, and what comes next."""
    from streams.ledger.status import next_step, status_of

    out.print(f"[bold]{escape(url)}[/]  [dim]{identity}[/]", highlight=False, soft_wrap=True)
    out.print(escape(status_of(history)), highlight=False)
    steps, day = table("Time (UTC)", "Step", "By", "Outcome", whole=("Time (UTC)", "Step", "By")), ""
    for step in history:
        moment = utc_from_micros(step.at)
        if day != (day := moment.strftime("%Y-%m-%d")):
            steps.add_row(f"[dim]{day}[/]")
        by = step.source.removeprefix("/riffle/")
        steps.add_row(moment.strftime("%H:%M:%S.%f")[:-3], step.topic, by, escape(step.outcome))
    out.print(steps)
    out.print(escape(next_step(history)), highlight=False)


async def print_document_of(stores: Any, identity: UUID, url: str) -> int:
    """The document as HTML, or in a line why there is none: the refusal, or what else became of the page."""
    from streams.ledger.status import status_of
    from streams.pages.document.codec import decode_document
    from streams.pages.document.to_html import to_html

    normalized = (await stores.pages.get(identity)).get("normalized", {})
    if not normalized.get("document_ref"):
        refused = normalized.get("refused")
        why = f"it was refused: {refused}" if refused else status_of(await stores.ledger.history(identity))
        err.print(f"There is no document of {escape(url)}: {escape(why)}", highlight=False, soft_wrap=True)
        return EXIT_NO
    found = decode_document(await stores.blobs.get(normalized["document_ref"]))
    out.print(to_html(found), highlight=False, markup=False, soft_wrap=True)
    return 0


async def print_removed_of(stores: Any, identity: UUID, url: str, *, as_json: bool) -> int:
    """The same list as the gateway's labs show, made by a process that the page may end."""
    from streams.pages.parse.content_type import as_html
    from streams.pages.sandbox.pool import ParsePool

    parts = await stores.pages.get(identity)
    fetched = parts.get("fetched", {})
    if not fetched.get("body_ref"):
        err.print(f"There is no copy of {escape(url)}. See why: riffle page URL", highlight=False, soft_wrap=True)
        return EXIT_NO
    body, headers = await stores.blobs.get(fetched["body_ref"]), fetched.get("headers") or {}
    try:
        async with ParsePool(1) as pool:
            explained = await pool.explain(as_html(body, headers), url=fetched["url"], headers=headers)
    except Refused as refusal:
        err.print(f"The page can't be taken apart: {escape(str(refusal))}", highlight=False, soft_wrap=True)
        return EXIT_NO
    if as_json:
        print_json(explained.to_fields())
    else:
        print_removed(explained)
    return 0


def print_removed(explained: "Explanation") -> None:
    """Below each reason its texts, each with what the reason says of it alone."""
    from streams.gateway.http.presentation import clean_line

    for group in explained.groups:
        size = f"{_counted(group.count, 'text')}, {_counted(group.chars, 'character')}"
        out.print(f"[bold]{escape(clean_line(group.title))}[/]  [dim]{size}[/]", highlight=False)
        for each in group.texts:
            said = clean_line(each.detail) if each.probability is None else f"{each.probability:.0%}"
            cut = f" [dim]… and {each.chars - len(each.text)} more characters[/]" if each.chars > len(each.text) else ""
            line = escape(clean_line(each.text)) + cut
            out.print(f"  [dim]{escape(said)}[/]  {line}" if said else f"  {line}", highlight=False, soft_wrap=True)
        if group.count > len(group.texts):
            out.print(f"  [dim]{group.count - len(group.texts)} more are not shown[/]", highlight=False)
    if not explained.groups:
        out.print("Nothing was removed: all of the page's text was kept.")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _identity(address: str) -> tuple[UUID, str]:
    try:
        return UUID(address), address
    except ValueError:
        pass
    try:
        url = with_scheme(address)
    except InvalidUrl as error:
        raise UsageError(f"{address!r} is neither a page's address nor an id: {error}") from None
    return page_id(url), url


@command
async def gateway(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Run the gateway: the search page, the API, and the page that tells why a page is (not) indexed.

    Example:  riffle gateway --port 8080
    """
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = load_settings(gateway=given)
    from streams.gateway.serve import serve

    publisher = QueryPublisher(settings)
    try:
        await serve(settings, publisher)
    finally:
        await publisher.stop()


class QueryPublisher:
    """Sends query events if Kafka is there. A search never waits for it, and never fails with it."""

    def __init__(self, settings: Settings) -> None:
        from streams.runtime.producer import EventProducer

        self._producer = EventProducer(settings, "gateway")
        self._started = False
        self._lock = asyncio.Lock()

    async def __call__(self, event: Event) -> None:
        async with self._lock:
            if not self._started:
                await self._producer.start()
                self._started = True
        await self._producer(event)

    async def stop(self) -> None:
        await self._producer.stop()
