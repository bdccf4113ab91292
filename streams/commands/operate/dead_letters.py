"""`riffle dead-letters`: list, show and replay the events that failed for good."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated

import typer
from rich.text import Text

from streams.commands.console import (
    AsJson,
    choose_stages,
    command,
    command_group,
    err,
    load_kafka_settings,
    out,
    print_json,
    print_json_list,
    print_result,
    styled,
    table,
)
from streams.errors import UsageError
from streams.runtime.dead_letters import DeadLetter, DeadLetters, Selection, find_dead_letters, replay_records
from streams.runtime.producer import EventProducer
from streams.runtime.topics import create_topics
from streams.topology import STAGES

dead_letters_app = command_group("Events that failed for good: list, show and replay them.")

StageName = Annotated[str | None, typer.Option("--stage", help="Only letters of this stage.")]
ErrorText = Annotated[str, typer.Option("--error", help="Only letters with this text in the error.")]
Since = Annotated[datetime | None, typer.Option(help="Only letters of failures since this time (UTC).")]
PAGE_LETTERS = 50
JSON_PAGE_LETTERS = 5_000
"""Number of letters that are read at a time for JSON."""
BATCH_LETTERS = 500
SHOWN_ERROR_CHARS = 200
"""Maximum length of an error in the list (characters)."""


def _selection(stage_name: str | None, error: str, since: datetime | None) -> Selection:
    """Return the selection of these options. Times without a zone are UTC."""
    return Selection(
        stages=choose_stages([stage_name]) if stage_name else STAGES,
        error=error,
        since=since.replace(tzinfo=UTC) if since else None,
    )


@dead_letters_app.command("list")
@command
def list_letters(
    stage_name: StageName = None,
    error: ErrorText = "",
    since: Since = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help=f"Maximum number of letters. Default: {PAGE_LETTERS}, and all with --json."),
    ] = None,
    after: Annotated[
        str, typer.Option(metavar="ID", help="Only letters behind this letter: the next page of the list.")
    ] = "",
    as_json: AsJson = False,
) -> int:
    """List the events that failed for good and were not replayed, oldest first.

    Examples:

        riffle dead-letters list --stage normalize
        riffle dead-letters list --error MissingBlob --since 2026-01-31 --limit 20
        riffle dead-letters list --after normalize/pages.fetched/3/1042
    """
    selection = _selection(stage_name, error, since)
    letters = DeadLetters(load_kafka_settings(), selection)
    if as_json:
        print_json_list(_as_fields(dead) for dead in _pages(letters, limit, after))
        return 0
    if not letters:
        out.print("No dead letters.")
        return 0
    shown = letters.page(limit or PAGE_LETTERS, after)
    listed = table("Letter", "What happened", title="Dead letters")
    for dead in shown:
        listed.add_row(dead.failure.id, _outcome(dead))
    out.print(listed)
    if len(shown) < len(letters):
        _print_kinds(letters)
    if len(shown) == (limit or PAGE_LETTERS) < len(letters):
        out.advise(f"The next ones: riffle dead-letters list --after {shown[-1].failure.id}")
    out.advise("See one with `riffle dead-letters show ID`, try again with `riffle dead-letters replay ID` (or --all).")
    return 0


def _pages(letters: DeadLetters, limit: int | None, after: str) -> Iterator[DeadLetter]:
    """Yield letters, read in parts, so that their values are never all in memory. No limit: all letters."""
    left = limit if limit is not None else len(letters)
    while left > 0 and (page := letters.page(min(left, JSON_PAGE_LETTERS), after)):
        yield from page
        left, after = left - len(page), page[-1].failure.id


def _print_kinds(letters: DeadLetters) -> None:
    kinds = table("Stage", "Error", "Letters", title=f"All {len(letters)} letters")
    for (stage, error), count in letters.kinds().most_common():
        kinds.add_row(stage, error, str(count))
    out.print(kinds)


def _outcome(dead: DeadLetter) -> Text:
    failure = dead.failure
    failed_at = failure.failed_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    tried = "tried once" if failure.attempts == 1 else f"tried {failure.attempts} times"
    error = f"{failure.error_type}: {failure.error[:SHOWN_ERROR_CHARS]}"
    return styled("{}\n[dim]{}, {} UTC, {}[/]", error, dead.event_type, failed_at, tried)


@dead_letters_app.command("show")
@command
def show_letter(
    letter_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the letter, as `list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """Show one dead letter: the error, where it came from, and the original event.

    Example:  riffle dead-letters show normalize/pages.fetched/3/1042
    """
    (dead,) = find_dead_letters(load_kafka_settings(), frozenset({letter_id}))
    if as_json:
        print_json(_as_fields(dead))
        return
    shown = table("Name", "Value", whole=("Name",), title=letter_id, header=False)
    for name, value in _as_fields(dead).items():
        if name not in {"id", "value"}:
            shown.add_row(name.replace("_", " "), str(value))
    out.print(shown)
    out.print(dead.value_text())


@dead_letters_app.command("replay")
@command
async def replay_letters(
    letter_ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids of the letters, as `list` shows them.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Replay all that `list` shows with the same filters.")] = False,
    stage_name: StageName = None,
    error: ErrorText = "",
    since: Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    as_json: AsJson = False,
) -> int:
    """Have dead letters handled again by the stage where they failed.

    Examples:

        riffle dead-letters replay normalize/pages.fetched/3/1042
        riffle dead-letters replay --all --stage embed --error "model is missing"
        riffle dead-letters replay --all --since 2026-01-31T12:00:00 --dry-run
    """
    if bool(letter_ids) == every:
        raise UsageError("name the letters to replay, or add --all. `riffle dead-letters list` shows them")
    if letter_ids and (stage_name or error or since):
        raise UsageError("filters need --all: letters that are named are replayed in any case")
    selection = _selection(stage_name, error, since)
    settings = load_kafka_settings()
    letters = find_dead_letters(settings, frozenset(letter_ids)) if letter_ids else DeadLetters(settings, selection)
    if dry_run:
        figures = {"letters": len(letters), "sent": 0}
        print_result(f"{_count(len(letters))} would be sent back.", figures, as_json)
        return 0
    await asyncio.to_thread(create_topics, settings)  # the replay topics, if no worker of this release has run yet
    sent = 0
    async with EventProducer(settings, "dead-letters") as producer:
        with err.status("Replaying ...") as status:
            records = iter(letters)
            while batch := await asyncio.to_thread(lambda: list(islice(records, BATCH_LETTERS))):
                now = datetime.now(UTC)
                await producer.send_records(record for dead in batch for record in replay_records(dead, now))
                sent += len(batch)
                status.update(f"Replaying: {sent} of {len(letters)} letters")
    print_result(f"Sent {_count(sent)} back to their stages.", {"letters": len(letters), "sent": sent}, as_json)
    return 0


def _count(letters: int) -> str:
    return f"{letters} {'letter' if letters == 1 else 'letters'}"


def _as_fields(dead: DeadLetter) -> dict[str, object]:
    failure = dead.failure
    return {
        "id": failure.id,
        "stage": failure.stage,
        "event": dead.event_type,
        "subject": dead.subject,
        "error_type": failure.error_type,
        "error": failure.error,
        "attempts": failure.attempts,
        "failed_at": failure.failed_at.isoformat(),
        "topic": failure.topic,
        "partition": failure.partition,
        "offset": failure.offset,
        "value": dead.value_text(),
    }
