"""Checks of an installation: `riffle doctor`, each with its advice, and `riffle round-trip`, with one page."""

import asyncio
import random
import sys
import textwrap
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated
from uuid import uuid4

import typer
from rich.text import Text

from streams.clock import now_micros
from streams.commands.console import EXIT_NO, AsJson, as_typed, command, err, load_settings, need_kafka, out, print_json
from streams.commands.pages.search import ask
from streams.crawl.archives.round_trip import Clock, Find, RoundTrip, round_trip
from streams.doctor.agreement import check_agreement
from streams.doctor.checks import all_checks
from streams.doctor.findings import Finding, Level, highest_level, run_checks
from streams.doctor.stored_pages import SAMPLED_PAGES, check_stored_pages
from streams.errors import UsageError
from streams.maintenance.sampling import sample_known_pages, sample_pages
from streams.runtime.producer import EventProducer
from streams.settings import Settings
from streams.statements.sandbox_tasks import drafting_pool
from streams.stores.opener import open_stores

DEADLINE_SECONDS = 15.0
_MARKS = {Level.OK: ("ok", "green"), Level.WARNING: ("WARN", "yellow"), Level.FAILURE: ("FAIL", "red")}
_NAME_WIDTH = 13
_INDENT = 6 + _NAME_WIDTH


@command
def doctor(
    as_json: AsJson = False,
    only: Annotated[list[str] | None, typer.Option(help="Only this check. May be repeated.")] = None,
    gateway: Annotated[
        str, typer.Option(metavar="URL", help="Address of the gateway, if not the one of the settings.")
    ] = "",
    deadline: Annotated[
        float, typer.Option(min=1, help="Seconds after which a check counts as failed.")
    ] = DEADLINE_SECONDS,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Only compare stored pages with the models' answers of now.")
    ] = False,
    stored: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Only compare the stores about N pages; with --vectors, the models' answers."
        ),
    ] = None,
) -> int:
    """Check an installation: servers, topics, schema, collection, certificates, clocks, lag, disk.

    It changes nothing. The exit status is 0 if all is well, 1 for warnings, 2 for failures.

    With --stored, history, frontier, record and index are compared about N random pages. With --vectors, the models are
    asked again about searchable pages: for the links of their statements and for their vectors, which are compared with
    those in Cassandra and in Qdrant.

    Examples:

        riffle doctor
        riffle doctor --only topics --only certificates
        riffle doctor --stored 1000
        riffle doctor --vectors --stored 1000
        riffle doctor --json --gateway https://search.example.org
    """
    settings = load_settings()
    findings: list[Finding] = []
    if (vectors or stored) and (only or gateway):
        raise UsageError("--stored and --vectors are checks of their own: without --only and --gateway")
    if vectors:
        results: Iterable[list[Finding]] = [asyncio.run(_compare_pages(settings, stored or SAMPLED_PAGES))]
    elif stored:
        results = [asyncio.run(_compare_stores(settings, stored))]
    else:
        results = run_checks(all_checks(settings, gateway_address=gateway.rstrip("/"), only=only or ()), deadline)
    for found in results:
        findings += found
        if not as_json:
            for finding in found:
                _show(finding)
    if as_json:
        fields = [{**asdict(finding), "level": finding.level.name.lower()} for finding in findings]
        print_json({"level": highest_level(findings).name.lower(), "findings": fields})
    else:
        _sum_up(findings)
    return int(highest_level(findings))


async def _compare_pages(settings: Settings, pages: int) -> list[Finding]:
    """Compare a sample of the searchable pages. Raises StoreUnavailable if a server is away."""
    with err.status("Comparing stored pages with the models' answers ...") as status:

        def show(done: int) -> None:
            status.update(f"Comparing stored pages with the models' answers: {done} of {pages} pages")

        async with open_stores(settings, ["records", "vectors", "models"], use="read") as stores:
            chance = random.Random()  # noqa: S311 - a sample, no secret
            sample = await sample_pages(stores.pages, chance, pages, lambda _: True)
            return await check_stored_pages(stores, drafting_pool("doctor"), sample, show)


async def _compare_stores(settings: Settings, pages: int) -> list[Finding]:
    """Compare the stores about a sample of all pages. Raises StoreUnavailable if a server is away."""
    with err.status("Comparing the stores ...") as status:

        def show(done: int) -> None:
            status.update(f"Comparing the stores: {done} of {pages} pages")

        async with open_stores(settings, ["records", "vectors"], use="read") as stores:
            chance = random.Random()  # noqa: S311 - a sample, no secret
            sample = await sample_known_pages(stores.pages, chance, pages)
            return await check_agreement(stores, sample, now_micros(), show)


def _show(finding: Finding) -> None:
    mark, colour = _MARKS[finding.level]
    out.print(_fold_text(f"{mark:<4}  {finding.check:<{_NAME_WIDTH}}", finding.says, colour))
    # Details of findings without a fault would hide the faults; --json has them.
    for detail in finding.details if finding.level is not Level.OK else ():
        out.print(_fold_text(" " * _INDENT + "- ", detail))
    if finding.advice:
        out.print(_fold_text(" " * _INDENT + "> ", as_typed(finding.advice)))


def _fold_text(start: str, text: str, colour: str = "") -> Text:
    """Return a start and a text, folded behind the start in a terminal, and one line in a file or pipe."""
    width = max(out.width - len(start), _INDENT) if out.is_terminal else sys.maxsize
    lines = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    folded = ("\n" + " " * len(start)).join(lines)
    return Text.assemble((start[:4], colour), start[4:], folded)


def _sum_up(findings: list[Finding]) -> None:
    counts = {level: sum(finding.level is level for finding in findings) for level in Level}
    text = f"\n{counts[Level.OK]} ok, {counts[Level.WARNING]} warnings, {counts[Level.FAILURE]} failures."
    out.print(text)


CLOCK = Clock(time.monotonic, now_micros, asyncio.sleep)


@command
async def round_trip_command(
    timeout_seconds: Annotated[
        float,
        typer.Option("--timeout", min=1, help="Seconds to wait for the page to be found, and again for its removal."),
    ] = 300.0,
    as_json: AsJson = False,
) -> int:
    """Send a page through the whole journey, search it at the gateway, remove it, and search again.

    Examples:

        riffle round-trip
        riffle round-trip --timeout 600 --json
    """
    settings = load_settings()
    need_kafka(settings)

    async def find(word: str, host: str) -> list[str]:
        answer = await asyncio.to_thread(ask, settings, word, host=host, language="*")
        return [result["url"] for result in answer["results"]]

    done = await _run(settings, find, timeout_seconds)
    if as_json:
        fields = {
            "url": done.url,
            "searchable_seconds": done.searchable_seconds,
            "removed_seconds": done.removed_seconds,
        }
        print_json({**fields, "whole": done.whole})
    else:
        _print(done, timeout_seconds)
    return 0 if done.whole else EXIT_NO


async def _run(settings: Settings, find: Find, timeout_seconds: float) -> RoundTrip:
    async with open_stores(settings, ["records"]) as stores, EventProducer(settings, "round-trip") as producer:
        word = f"trip{uuid4().hex[:16]}"
        return await round_trip(word, stores.blobs, producer, find, CLOCK, timeout_seconds=timeout_seconds)


def _print(done: RoundTrip, timeout: float) -> None:
    if done.searchable_seconds is None:
        out.advise(f"The page was not found within {timeout:g} s. `riffle page {done.url}` shows where it is.")
        return
    out.print(f"The page was found after {done.searchable_seconds:.1f} s.")
    if done.removed_seconds is None:
        out.print(f"It was removed, but is still found after {timeout:g} s.")
    else:
        out.print(f"It was removed, and not found any more after {done.removed_seconds:.1f} s.")
