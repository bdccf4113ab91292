"""`riffle replay`: have a stage handle past events again."""

import asyncio
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Annotated

import typer

from streams.commands.console import EXIT_NO, AsJson, choose_stages, command, err, load_kafka_settings, print_result
from streams.runtime.dead_letters import replay_record, stage_inputs
from streams.runtime.lags.backpressure import AFTER_SOURCES, LagWatch, PausingSource, describe_shortage
from streams.runtime.lags.stage_lags import LagReader
from streams.runtime.producer import EventProducer
from streams.runtime.topics import create_topics

BATCH_RECORDS = 500


@command
async def replay(
    stage_name: Annotated[str, typer.Option("--from", help="The stage that handles its inputs again.")],
    host: Annotated[str | None, typer.Option(help="Only pages of this host.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only events since this time (UTC).")] = None,
    as_json: AsJson = False,
) -> int:
    """Let a stage, and all stages after it, handle past events again, for a new model or new rules. Nothing is crawled.

    The replay waits while a stage is further behind than `crawl.max_stage_lag_events`.

    Examples:

        riffle replay --from normalize --host www.sqlite.org
        riffle replay --from embed --since 2026-01-31T12:00:00
    """
    (stage,) = choose_stages([stage_name])
    settings = load_kafka_settings()
    earliest = since.replace(tzinfo=UTC) if since else None
    await asyncio.to_thread(create_topics, settings)  # the replay topic, if no worker of this release has run yet
    later = tuple({stage, *AFTER_SOURCES})
    now, sent = datetime.now(UTC), 0
    records = stage_inputs(settings, stage, host=host, since=earliest)
    async with EventProducer(settings, "replay") as producer:
        with err.status(f"Replaying from {stage.name} ...") as status, closing(LagReader(settings, later)) as lags:
            watch = LagWatch(lags.read, settings.crawl.max_stage_lag_events, counts_replays=True)
            watch.describe_shortage = partial(describe_shortage, settings)
            source = PausingSource(watch, lambda why: status.update(f"Replaying from {stage.name}: {sent} events{why}"))
            while batch := await asyncio.to_thread(lambda: list(islice(records, BATCH_RECORDS))):
                await source.wait()
                await producer.send_records(replay_record(stage, record, now) for record in batch)
                sent += len(batch)
                status.update(f"Replaying from {stage.name}: {sent} events")
    sentence = f"Sent {sent} events to {stage.name} again." if sent else "Nothing to replay: Kafka holds no such event."
    print_result(sentence, {"stage": stage.name, "sent": sent}, as_json)
    return 0 if sent else EXIT_NO
