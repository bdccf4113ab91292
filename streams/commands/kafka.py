"""Commands about topics, workers, dead letters and replays."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated

import typer
from rich.markup import escape

from streams.commands.console import (
    EXIT_NO,
    JSON_OPTION,
    command,
    command_group,
    err,
    load_settings,
    need_kafka,
    out,
    print_json,
    table,
)
from streams.errors import UsageError
from streams.runtime.lag import stage_lags
from streams.runtime.processing import Incoming
from streams.runtime.producer import EventProducer
from streams.runtime.replaying import (
    DeadLetter,
    dead_letters,
    find_dead_letter,
    replay_records,
    retry_record,
    stage_inputs,
)
from streams.runtime.topics import create_topics, describe_topics
from streams.settings import Settings
from streams.topology import STAGES, Stage, stage

letters_app = command_group("Events that failed for good: list, show and replay them.")

AsJson = Annotated[bool, JSON_OPTION]
BATCH_RECORDS = 500
SHOWN_ERROR_CHARS = 200


def load_kafka_settings() -> Settings:
    """The settings, and the certainty that somebody listens at Kafka's address."""
    settings = load_settings()
    need_kafka(settings)
    return settings


def _stages(names: list[str]) -> tuple[Stage, ...]:
    try:
        return tuple(stage(name) for name in dict.fromkeys(names))
    except KeyError as error:
        raise UsageError(error.args[0]) from None


@command
async def worker(
    stages: Annotated[list[str], typer.Argument(help=f"One or several of {', '.join(s.name for s in STAGES)}.")],
    instance: Annotated[str, typer.Option(help="This worker's name among those of its stage (a pod's ordinal).")] = "",
    health_port: Annotated[int, typer.Option(help="Of /healthz, /readyz and /metrics; 0 is any.")] = 0,
) -> int:
    """Run stages until told to stop (SIGTERM or Ctrl-C).

    Examples:

        riffle worker fetch
        riffle worker normalize dedup --health-port 9100
    """
    chosen = _stages(stages)
    runtime = {name: value for name, value in (("instance", instance), ("health_port", health_port)) if value}
    settings = load_settings(runtime=runtime)
    from streams.runtime.worker import run_worker

    return await run_worker(chosen, settings)


@command
def topics(
    create: Annotated[bool, typer.Option("--create", help="Create those that are missing.")] = False,
    as_json: AsJson = False,
) -> int:
    """List the topics of the topology: partitions, records, and how far behind each stage is.

    Examples:

        riffle topics
        riffle topics --create --json
    """
    settings = load_kafka_settings()
    if create:
        created = create_topics(settings)
        err.print(f"Created {len(created)} topics." if created else "No topic was missing.")
    states = describe_topics(settings)
    lags = stage_lags(settings)
    if as_json:
        print_json(
            {
                "topics": [
                    {"name": s.topic.name, "key": s.topic.key, "partitions": s.partitions, "records": s.messages}
                    for s in states
                ],
                "lag": [{"stage": lag.stage, "topic": lag.topic, "events": lag.events} for lag in lags],
            }
        )
        return 0
    listed = table("Topic", "Key", "Partitions", "Records", "Waiting, by stage", whole=("Topic", "Key"), title="Topics")
    for state in states:
        waiting = ", ".join(f"{lag.stage} {lag.events}" for lag in lags if lag.topic == state.topic.name and lag.events)
        count = str(state.partitions) if state.partitions else "[red]missing[/]"
        listed.add_row(state.topic.name, state.topic.key, count, str(state.messages), waiting)
    out.print(listed)
    return 0 if all(state.partitions for state in states) else EXIT_NO


@letters_app.command("list")
@command
def letters_list(
    stage_name: Annotated[str | None, typer.Option("--stage", help="Of one stage only.")] = None,
    as_json: AsJson = False,
) -> int:
    """List the events that failed for good and were not replayed.

    Example:  riffle dead-letters list --stage normalize
    """
    stages = _stages([stage_name]) if stage_name else STAGES
    found = dead_letters(load_kafka_settings(), stages)
    if as_json:
        print_json([_as_dict(dead) for dead in found])
        return 0
    if not found:
        out.print("No dead letters.")
        return 0
    listed = table("Letter", "What happened", title="Dead letters")
    for dead in found:
        letter = dead.letter
        failed_at = letter.failed_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        tried = "tried once" if letter.attempts == 1 else f"tried {letter.attempts} times"
        error = escape(f"{letter.error_type}: {letter.error[:SHOWN_ERROR_CHARS]}")
        listed.add_row(escape(letter.id), f"{error}\n[dim]{dead.event_type}, {failed_at} UTC, {tried}[/]")
    out.print(listed)
    out.print("See one with `riffle dead-letters show ID`, try again with `riffle dead-letters replay ID` (or --all).")
    return 0


@letters_app.command("show")
@command
def letters_show(letter_id: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False) -> None:
    """Show one dead letter: the error, where it came from, and the original event.

    Example:  riffle dead-letters show normalize/pages.fetched/3/1042
    """
    dead = find_dead_letter(load_kafka_settings(), letter_id)
    if as_json:
        print_json(_as_dict(dead))
        return
    shown = table("Name", "Value", whole=("Name",), title=letter_id, header=False)
    for name, value in _as_dict(dead).items():
        if name not in {"id", "value"}:
            shown.add_row(name.replace("_", " "), escape(str(value)))
    out.print(shown)
    out.print(dead.value_text(), highlight=False, markup=False, soft_wrap=True)


@letters_app.command("replay")
@command
async def letters_replay(
    letter_ids: Annotated[list[str] | None, typer.Argument(metavar="ID...")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are listed.")] = False,
    stage_name: Annotated[str | None, typer.Option("--stage", help="With --all: of one stage only.")] = None,
) -> int:
    """Have dead letters handled again by the stage where they failed.

    Example:  riffle dead-letters replay --all --stage embed
    """
    if bool(letter_ids) == every:
        raise UsageError("name the letters to replay, or say --all. `riffle dead-letters list` shows them")
    settings = load_kafka_settings()
    if every:
        chosen = dead_letters(settings, _stages([stage_name]) if stage_name else STAGES)
    else:
        chosen = [find_dead_letter(settings, letter_id) for letter_id in letter_ids or []]
    async with EventProducer(settings, "dead-letters") as producer:
        for dead in chosen:
            await producer.send_records(replay_records(dead, datetime.now(UTC)))
    out.print(f"Sent {len(chosen)} {'letter' if len(chosen) == 1 else 'letters'} back to their stages.")
    return 0


@command
async def replay(
    stage_name: Annotated[str, typer.Option("--from", help="The stage that handles its inputs again.")],
    host: Annotated[str | None, typer.Option(help="Only pages of this host.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only events since then, UTC.")] = None,
) -> int:
    """Have a stage handle again what passed through it, and with it all stages behind: new model, new rules, no crawl.

    Examples:

        riffle replay --from normalize --host www.sqlite.org
        riffle replay --from embed --since 2026-01-31T12:00:00
    """
    (chosen,) = _stages([stage_name])
    settings = load_kafka_settings()
    moment = since.replace(tzinfo=UTC) if since else None
    now, sent = datetime.now(UTC), 0
    records = stage_inputs(settings, chosen, host=host, since=moment)
    async with EventProducer(settings, "replay") as producer:
        with err.status(f"Replaying from {chosen.name} ...") as status:
            while batch := await asyncio.to_thread(_take, records):
                await producer.send_records(retry_record(chosen.retry_topic, chosen.name, r, now) for r in batch)
                sent += len(batch)
                status.update(f"Replaying from {chosen.name}: {sent} events")
    out.print(f"Sent {sent} events to {chosen.name} again." if sent else "Nothing to replay: no such event is kept.")
    return 0 if sent else EXIT_NO


def _take(records: Iterator[Incoming]) -> list[Incoming]:
    return list(islice(records, BATCH_RECORDS))


def _as_dict(dead: DeadLetter) -> dict[str, object]:
    letter = dead.letter
    return {
        "id": letter.id,
        "stage": letter.stage,
        "event": dead.event_type,
        "subject": dead.subject,
        "error_type": letter.error_type,
        "error": letter.error,
        "attempts": letter.attempts,
        "failed_at": letter.failed_at.isoformat(),
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "value": dead.value_text(),
    }
