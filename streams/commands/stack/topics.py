"""The topics as the cluster has them, and the lag of each stage (`riffle status --topics`)."""

from streams.commands.console import EXIT_NO, need_kafka, out, print_json, styled, table
from streams.runtime.lags.stage_lags import stage_lags
from streams.runtime.topics import describe_topics
from streams.settings import Settings


def show_topics(settings: Settings, as_json: bool) -> int:
    """Print each topic with its partitions, its records, and how far behind each stage is. Return the exit status."""
    need_kafka(settings)
    states, lags = describe_topics(settings), stage_lags(settings)
    if as_json:
        topics = [
            {"name": s.topic.name, "key": s.topic.key, "partitions": s.partitions, "records": s.messages}
            for s in states
        ]
        behind = [{"stage": lag.stage, "topic": lag.topic, "events": lag.events, "lost": lag.lost} for lag in lags]
        print_json({"topics": topics, "lag": behind})
        return 0
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
    return 0 if all(state.partitions for state in states) else EXIT_NO
