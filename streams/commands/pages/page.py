"""`riffle page`: the history of a page, its document, and the texts that were removed from it."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from schemas.envelope import utc_from_micros
from schemas.ids import page_id
from streams.clock import now_micros
from streams.commands.console import EXIT_NO, AsJson, command, err, load_settings, out, print_json, styled, table
from streams.crawl.urls import InvalidUrl, page_urls
from streams.errors import Refused, UsageError
from streams.maintenance.frontier_hosts import NOT_READ, InFrontier, read_in_frontier
from streams.plain_text import clean_line, count_of
from streams.stores.protocols import Transition

if TYPE_CHECKING:
    from streams.pages.document.model import Document
    from streams.pages.sandbox.explanation import Explanation
    from streams.stores.opener import Stores
    from streams.stores.page_record import PageRecord


@command
async def page(
    address: Annotated[str, typer.Argument(metavar="URL", help="The page's address, or its id.")],
    document: Annotated[bool, typer.Option("--document", help="Print the semantic document.")] = False,
    removed: Annotated[bool, typer.Option("--removed", help="Print what is not in the document, and why.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show the history of a page: every step, its time and outcome, and what comes next.

    Examples:

        riffle page https://www.sqlite.org/atomiccommit.html
        riffle page https://www.sqlite.org/atomiccommit.html --document
        riffle page https://www.sqlite.org/atomiccommit.html --removed
    """
    from streams.ledger.history import read_record_and_history
    from streams.stores.opener import open_stores

    settings = load_settings()
    candidates = _candidates(address)
    async with open_stores(settings, ["records"], use="read") as stores:
        identity, url = await first_known(stores, candidates)
        if document:
            return await print_document_of(stores, identity, url, as_json=as_json)
        if removed:
            return await print_removed_of(stores, identity, url, as_json=as_json)
        record, history = await read_record_and_history(stores, identity, _known_url(url))
        robot = settings.crawl.robot_name
        frontier = await read_in_frontier(stores.frontier, stores.blobs, robot, _known_url(url), now_micros())
        left_out = frontier.left_out
    if as_json:
        notes = {"left_out": left_out, "not_rendered": record.why_not_rendered()}
        print_json({**life_as_json(identity, url, history, frontier), **notes})
    elif history:
        print_life(identity, url, history, frontier)
        if why := record.why_not_rendered():
            sentence = f"A browser did not render it, so its document is the one without scripts: {why}."
            out.print(sentence)
    if left_out and not as_json:
        out.print(f"No crawl follows a link to it: {left_out}.")
    elif not history and not as_json:
        out.advise(
            f"Riffle has never seen {url}. Crawl it: riffle crawl {shlex.quote(_known_url(url) or 'URL')}",
        )
    return 0 if history else EXIT_NO


def life_as_json(
    identity: UUID, url: str, history: list[Transition], frontier: InFrontier = NOT_READ
) -> dict[str, Any]:
    """Return the page's status and its events with all their data, under the names that the API uses."""
    from streams.ledger.descriptions import describe_next_step, describe_status
    from streams.ledger.status import status_of, with_frontier

    steps = [
        {**step.data, "at": utc_from_micros(step.at).isoformat(), "topic": step.topic, "outcome": step.outcome}
        for step in history
    ]
    status = with_frontier(status_of(history), frontier.waits, is_asked_for=frontier.is_asked_for)
    return {
        "page_id": identity,
        "url": url,
        "status": status.status,
        "state": status.model_dump(mode="json", exclude_none=True),
        "says": describe_status(status),
        "next_step": describe_next_step(status, _known_url(url)),
        "steps": steps,
    }


def print_life(identity: UUID, url: str, history: list[Transition], frontier: InFrontier = NOT_READ) -> None:
    """Print a page's history for people: its status, each event, and the next step."""
    from streams.ledger.descriptions import describe_next_step, describe_status
    from streams.ledger.status import status_of, with_frontier

    status = with_frontier(status_of(history), frontier.waits, is_asked_for=frontier.is_asked_for)
    out.print(styled("[bold]{}[/]  [dim]{}[/]", url, identity))
    out.print(describe_status(status))
    steps, day = table("Time (UTC)", "Step", "By", "Outcome", whole=("Time (UTC)", "Step", "By")), ""
    for step in history:
        moment = utc_from_micros(step.at)
        if day != (day := moment.strftime("%Y-%m-%d")):
            steps.add_row(styled("[dim]{}[/]", day))
        by = step.source.removeprefix("/riffle/")
        steps.add_row(moment.strftime("%H:%M:%S.%f")[:-3], step.topic, by, step.outcome)
    out.print(steps)
    out.print(describe_next_step(status, _known_url(url)))


def _known_url(named: str) -> str:
    """Return the page's URL, or an empty text if the page was named by its id."""
    return named if "://" in named else ""


async def print_document_of(stores: Any, identity: UUID, url: str, *, as_json: bool) -> int:
    """Print the document as HTML, or as the API's JSON; or the reason why there is none. Return the exit status."""
    from streams.ledger.descriptions import describe_status
    from streams.ledger.history import history_of
    from streams.ledger.status import status_of
    from streams.pages.document.codec import decode_document
    from streams.pages.document.to_html import to_html

    record: PageRecord = await stores.pages.get(identity)
    normalized = record.normalized
    if not normalized.document_ref:
        refused = normalized.refused
        status = status_of(await history_of(stores, identity, _known_url(url)))
        why = f"it was refused: {refused}" if refused else describe_status(status)
        return _print_missing(
            {"page_id": identity, "url": url, "document": None}, f"There is no document of {url}: {why}", as_json
        )
    document = decode_document(await stores.blobs.get(normalized.document_ref))
    if as_json:
        print_json(document_as_json(identity, url, normalized.document_ref, document))
    else:
        out.print(to_html(document), soft_wrap=True)
    return 0


def document_as_json(identity: UUID, url: str, ref: str, document: "Document") -> dict[str, Any]:
    """Return the document under the names that the API uses, and with the API's limits."""
    from streams.gateway.content.answers import PageDocument, to_document

    answer = PageDocument(page_id=identity, url=url, ref=ref, document=to_document(document))
    return answer.model_dump(mode="json")


def _print_missing(fields: dict[str, Any], why: str, as_json: bool) -> int:
    """Print why something of a page is missing, as JSON with these fields. Return the exit status."""
    if as_json:
        print_json({**fields, "why": why})
    else:
        err.print(why)
    return EXIT_NO


async def print_removed_of(stores: Any, identity: UUID, url: str, *, as_json: bool) -> int:
    """Print the removed texts, as the gateway's labs page lists them. Return the exit status."""
    from streams.pages.sandbox.pool import ParsePool

    record: PageRecord = await stores.pages.get(identity)
    fetched = record.fetched
    missing = {"page_id": identity, "url": url, "groups": None}
    if not fetched.body_ref:
        return _print_missing(missing, f"There is no copy of {url}. See why: riffle page {shlex.quote(url)}", as_json)
    body, headers = await stores.blobs.get(fetched.body_ref), fetched.headers
    try:
        async with ParsePool(1) as pool:
            explained = await pool.explain(body, url=fetched.url, headers=headers)
    except Refused as refusal:
        return _print_missing(missing, f"The page can't be taken apart: {refusal}", as_json)
    if as_json:
        print_json(explained.to_fields())
    else:
        print_removed(explained)
    return 0


def print_removed(explained: "Explanation") -> None:
    """Print each reason with its texts, and the detail or probability of each text."""
    for group in explained.groups:
        size = f"{count_of(group.count, 'text')}, {count_of(group.chars, 'character')}"
        out.print(styled("[bold]{}[/]  [dim]{}[/]", clean_line(group.title), size))
        for each in group.texts:
            detail = clean_line(each.detail) if each.probability is None else f"{each.probability:.0%}"
            cut = f" … and {each.chars - len(each.text)} more characters" if each.chars > len(each.text) else ""
            indented = f"  {detail}" if detail else ""
            out.print(styled("[dim]{}[/]  {}[dim]{}[/]", indented, clean_line(each.text), cut))
        if group.count > len(group.texts):
            out.print(styled("  [dim]{} more are not shown[/]", group.count - len(group.texts)))
    if not explained.groups:
        out.print("Nothing was removed: all of the page's text was kept.")


async def first_known(stores: "Stores", candidates: list[tuple[UUID, str]]) -> tuple[UUID, str]:
    """Return the first page that has a record, or else the first one."""
    for identity, url in candidates if len(candidates) > 1 else ():
        if (await stores.pages.get(identity)).rows:
            return identity, url
    return candidates[0]


def _candidates(address: str) -> list[tuple[UUID, str]]:
    """Return what an address may name: an id, or a URL as a public one or at its own origin. Raises UsageError."""
    try:
        return [(UUID(address), address)]
    except ValueError:
        pass
    try:
        return [(page_id(url), url) for url in page_urls(address)]
    except InvalidUrl as error:
        raise UsageError(f"{address!r} is neither a page's address nor an id: {error}") from None
