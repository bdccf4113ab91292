"""`riffle topics`: the topics as the cluster has them, and the lag of each stage."""

from typing import Annotated

import typer

from streams.commands.console import (
    EXIT_NO,
    AsJson,
    command,
    err,
    load_kafka_settings,
    out,
    print_json,
    styled,
    table,
)
from streams.runtime.lags.stage_lags import Lag, stage_lags
from streams.runtime.topics import TopicState, create_topics, describe_topics, grow_topics, set_record_times


@command
def topics(
    create: Annotated[
        bool,
        typer.Option(
            "--create", help="Create the missing topics, and have Kafka set the times of records by its own clock."
        ),
    ] = False,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Give all topics this many partitions, then restart all workers.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List the topics of the topology: partitions, records, and how far behind each stage is.

    Examples:

        riffle topics
        riffle topics --create --json
        riffle topics --partitions 16
    """
    settings = load_kafka_settings()
    if create:
        created, changed = create_topics(settings), set_record_times(settings)
        err.print(f"Created {len(created)} topics." if created else "No topic was missing.")
        if changed:
            err.print(f"Records of {len(changed)} topics get Kafka's time from now on.")
    if partitions:
        grown = grow_topics(settings, partitions)
        err.print(
            f"Added partitions to {len(grown)} topics." if grown else "All topics have as many partitions already."
        )
    states, lags = describe_topics(settings), stage_lags(settings)
    if as_json:
        print_json(_as_fields(states, lags))
        return 0
    _print(states, lags)
    return 0 if all(state.partitions for state in states) else EXIT_NO


def _as_fields(states: list[TopicState], lags: list[Lag]) -> dict[str, object]:
    return {
        "topics": [
            {"name": s.topic.name, "key": s.topic.key, "partitions": s.partitions, "records": s.messages}
            for s in states
        ],
        "lag": [{"stage": lag.stage, "topic": lag.topic, "events": lag.events, "lost": lag.lost} for lag in lags],
    }


def _print(states: list[TopicState], lags: list[Lag]) -> None:
    listed = table("Topic", "Key", "Partitions", "Records", "Waiting, by stage", whole=("Topic", "Key"), title="Topics")
    for state in states:
        waiting = ", ".join(f"{lag.stage} {lag.events}" for lag in lags if lag.topic == state.topic.name and lag.events)
        count = str(state.partitions) if state.partitions else styled("[red]missing[/]")
        listed.add_row(state.topic.name, state.topic.key, count, str(state.messages), waiting)
    out.print(listed)
    for lag in lags:
        if lag.lost:
            out.print(
                styled("[red]Lost:[/] {} events of {}, deleted before {} handled them.", lag.lost, lag.topic, lag.stage)
            )
