"""`riffle queries`: the counts of queries that enough people asked."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from streams.commands.console import AsJson, command, command_group, load_settings, out, print_json, print_result, table
from streams.queries.click_model import learn_examination, read_clicks
from streams.queries.counts import Counts, list_queries, list_unanswered
from streams.stores.index_maps import purge_map
from streams.stores.opener import open_stores

queries_app = command_group("Counts of queries, where the operator collects them: show them, delete them.")
LEARN_DAYS = 30
"""Days whose clicks are learned from."""


class By(StrEnum):
    """The order of a list of queries, and which queries are in it."""

    hot = "hot"
    empty = "empty"
    unclicked = "unclicked"


@queries_app.command("list")
@command
async def list_counted(
    by: Annotated[By, typer.Option(help="Asked most, most often without a result, or without a click.")] = By.hot,
    days: Annotated[int, typer.Option(min=1, max=90, help="Number of days to read.")] = 30,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of queries to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List counted queries. A question counts the less, the older it is.

    `empty`: no result, or only the nearest pages by meaning. `unclicked`: results, and nobody clicked on one.

    Examples:

        riffle queries list --days 7
        riffle queries list --by empty
    """
    now = datetime.now(UTC)
    async with open_stores(load_settings(), ["records"], use="read") as stores:
        counts = stores.query_counts
        rows = await (list_unanswered if by is By.empty else list_queries)(counts, now, days)
        if by is By.unclicked:
            clicks = await read_clicks(counts, now, days)
            rows = [
                row for row in rows if row[:2] in clicks and not any(each.clicked for each in clicks[row[:2]].values())
            ]
    _show(rows[:limit], as_json=as_json)


@queries_app.command("learn")
@command
async def learn(as_json: AsJson = False) -> None:
    """Learn from all clicks how probably people look at each place of the results, and store it for searches.

    Only with these probabilities do pages gain by clicks. Run it each week.

    Example:  riffle queries learn
    """
    async with open_stores(load_settings(), ["records"]) as stores:
        found = await learn_examination(stores.query_counts, datetime.now(UTC), LEARN_DAYS)
    if as_json:
        print_json({"examination": found})
        return
    if not found:
        out.print(
            "There are no clicks on results of counted queries: clicks are not published, or queries not counted."
        )
        return
    shown = table("place", "people who look at it")
    for place, probability in enumerate(found, 1):
        shown.add_row(str(place), f"{probability:.0%}")
    out.print(shown)


@queries_app.command("purge")
@command
async def purge(
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False, as_json: AsJson = False
) -> None:
    """Delete all counts of queries and clicks, all suggestions, and the map of the index.

    Records in Kafka end by themselves within a day. `riffle suggest build` then makes suggestions only from the index.
    Gateways forget theirs within a minute.

    Example:  riffle queries purge --yes
    """
    if not yes:
        typer.confirm("Delete the counts of all queries?", abort=True)
    async with open_stores(load_settings(), ["records"]) as stores:
        await stores.query_counts.purge()
        await stores.suggestions.purge()
        await purge_map(stores.notes)
    print_result(
        "Counts of queries, suggestions and the map are deleted. riffle suggest build makes suggestions of the index.",
        {"purged": ["query_counts", "suggestions", "index_maps"]},
        as_json,
    )


def _show(rows: Sequence[tuple[str, str, Counts]], *, as_json: bool) -> None:
    if as_json:
        names = ("language", "query")
        print_json(
            [
                {**dict(zip(names, row, strict=False)), "total": c.total, "recent": c.recent, "empty": c.empty}
                for row in rows
                for c in [row[2]]
            ]
        )
        return
    if not rows:
        out.print("There are no counts: queries are not collected (RIFFLE_QUERIES__COLLECT), or too few people asked.")
        return
    shown = table("query", "language", "asked", "last two hours", "without results", whole=["query"])
    for language, query, counts in rows:
        shown.add_row(query, language, f"{counts.total:,.1f}", f"{counts.recent:,}", f"{counts.empty:,.1f}")
    out.print(shown)
