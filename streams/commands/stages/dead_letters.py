"""`riffle dead-letters`: list, show and replay the events that failed for good."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from streams.commands.console import (
    JSON_OPTION,
    chosen_stages,
    command,
    command_group,
    load_kafka_settings,
    out,
    print_json,
    styled,
    table,
)
from streams.errors import UsageError
from streams.runtime.producer import EventProducer
from streams.runtime.replaying import DeadLetter, dead_letters, find_dead_letter, replay_records
from streams.topology import STAGES, Stage

dead_letters_app = command_group("Events that failed for good: list, show and replay them.")

AsJson = Annotated[bool, JSON_OPTION]
SHOWN_ERROR_CHARS = 200
"""Maximum length of an error in the list (characters)."""


def _stages(name: str | None) -> tuple[Stage, ...]:
    return chosen_stages([name]) if name else STAGES


@dead_letters_app.command("list")
@command
def list_letters(
    stage_name: Annotated[str | None, typer.Option("--stage", help="Only those of this stage.")] = None,
    as_json: AsJson = False,
) -> int:
    """List the events that failed for good and were not replayed.

    Example:  riffle dead-letters list --stage normalize
    """
    stages = _stages(stage_name)
    letters = dead_letters(load_kafka_settings(), stages)
    if as_json:
        print_json([_as_fields(dead) for dead in letters])
        return 0
    if not letters:
        out.print("No dead letters.")
        return 0
    listed = table("Letter", "What happened", title="Dead letters")
    for dead in letters:
        listed.add_row(dead.failure.id, _outcome(dead))
    out.print(listed)
    out.print("See one with `riffle dead-letters show ID`, try again with `riffle dead-letters replay ID` (or --all).")
    return 0


def _outcome(dead: DeadLetter) -> Text:
    failure = dead.failure
    failed_at = failure.failed_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    tried = "tried once" if failure.attempts == 1 else f"tried {failure.attempts} times"
    error = f"{failure.error_type}: {failure.error[:SHOWN_ERROR_CHARS]}"
    return styled("{}\n[dim]{}, {} UTC, {}[/]", error, dead.event_type, failed_at, tried)


@dead_letters_app.command("show")
@command
def show_letter(letter_id: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False) -> None:
    """Show one dead letter: the error, where it came from, and the original event.

    Example:  riffle dead-letters show normalize/pages.fetched/3/1042
    """
    dead = find_dead_letter(load_kafka_settings(), letter_id)
    if as_json:
        print_json(_as_fields(dead))
        return
    shown = table("Name", "Value", whole=("Name",), title=letter_id, header=False)
    for name, value in _as_fields(dead).items():
        if name not in {"id", "value"}:
            shown.add_row(name.replace("_", " "), str(value))
    out.print(shown)
    out.print(dead.value_text(), highlight=False, soft_wrap=True)


@dead_letters_app.command("replay")
@command
async def replay_letters(
    letter_ids: Annotated[list[str] | None, typer.Argument(metavar="ID...")] = None,
    every: Annotated[bool, typer.Option("--all", help="Replay all that `list` shows.")] = False,
    stage_name: Annotated[str | None, typer.Option("--stage", help="With --all: only those of this stage.")] = None,
) -> int:
    """Have dead letters handled again by the stage where they failed.

    Example:  riffle dead-letters replay --all --stage embed
    """
    if bool(letter_ids) == every:
        raise UsageError("name the letters to replay, or add --all. `riffle dead-letters list` shows them")
    settings = load_kafka_settings()
    if every:
        chosen = dead_letters(settings, _stages(stage_name))
    else:
        chosen = [find_dead_letter(settings, letter_id) for letter_id in letter_ids or []]
    async with EventProducer(settings, "dead-letters") as producer:
        for dead in chosen:
            await producer.send_records(replay_records(dead, datetime.now(UTC)))
    out.print(f"Sent {len(chosen)} {'letter' if len(chosen) == 1 else 'letters'} back to their stages.")
    return 0


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
