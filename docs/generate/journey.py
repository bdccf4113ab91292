"""The journey of a page as a diagram and as tables, generated from the topology."""

from docs.generate.reference import wrapped_item
from schemas import EVENTS, Event
from streams.servers import STORES, server_of
from streams.topology import OUTSIDE_PRODUCERS, PAGE_EVENTS, STAGES, WHEN_SENT

RECORDERS = tuple(stage for stage in STAGES if stage.inputs == PAGE_EVENTS)
"""The stages that read every event of a page: a sentence has them in place of an arrow for each event."""


def journey_diagram() -> str:
    """The journey as a Mermaid flowchart: stages are boxes, arrows are topics."""
    lines = ["```mermaid", "flowchart LR"]
    drawn = [stage for stage in STAGES if stage not in RECORDERS]
    lines += [f'    {stage.name}["{stage.name}"]' for stage in drawn]
    for event in EVENTS:
        readers = [s.name for s in drawn if event in s.inputs] or ["subscribers"]
        writers = [s.name for s in drawn if event in s.outputs] or OUTSIDE_PRODUCERS.get(event, ("",))
        if not any(event in s.inputs or event in s.outputs for s in STAGES):
            continue
        for writer in writers:
            for reader in readers:
                arrow = f"-. {event.topic} .->" if event in WHEN_SENT else f"-- {event.topic} -->"
                lines.append(f"    {_node(writer)} {arrow} {_node(reader)}")
    lines += ["    subscribers([subscribers])", "```", ""]
    recorders = " and ".join(f"the {stage.name}" for stage in RECORDERS)
    lines.append(
        f"Every event of a page also reaches {recorders}. Each stage has its own topics for retries and dead letters. "
        "Nobody sends the events of dotted arrows by default."
    )
    return "\n".join(lines)


def _node(name: str) -> str:
    return name.strip("`").replace(" ", "_").replace(",", "")


def journey_page() -> str:
    """docs/concepts/journey.md: the stages and topics as tables."""
    stages = "\n".join(f"| `{s.name}` | {s.says} | {', '.join(s.stores)} |" for s in STAGES)
    topics = "\n".join(f"| `{e.topic}` | `{e.key_field}` | {_writers(e)} | {_readers(e)} |" for e in EVENTS)
    meanings = "\n".join(wrapped_item(f"`{e.topic}`: {e.summary()}") for e in EVENTS)
    roles = ", ".join(f"`{store}` are in {server_of(store).title}" for store in STORES[:-1])
    roles += f", and {server_of(STORES[-1]).title} runs the `{STORES[-1]}`"
    with_urgent = [f"`{s.name}`" for s in STAGES if s.urgent]
    urgent = f"{', '.join(with_urgent[:-1])} and {with_urgent[-1]}"
    return f"""# The journey of a page

This page is generated from `streams/topology.py` by `make schemas`.

{journey_diagram()}

## Stages

Each stage is one consumer group and one worker type (`riffle worker NAME`), and scales independently.
Its stores are named by their role: {roles}.

| stage | what it does | stores |
|---|---|---|
{stages}

## Topics

| topic | key | sent by | read by |
|---|---|---|---|
{topics}

What an event of each topic means:

{meanings}

A stage NAME also has topics that only it reads: `NAME.retry` and `NAME.retry-long` (events that failed and are tried
again after a short or a long delay) and `NAME.replay` (events that an operator has it handle again, see
`riffle replay`). {urgent} also have `NAME.urgent`, with copies of the seeds and removals
that a person gave: a stage handles the copies before all other events, and then skips the originals. The stage's dead
letters are in `NAME.dead`, for 90 days (see `riffle dead-letters`).
"""


def _writers(event: type[Event]) -> str:
    outside = OUTSIDE_PRODUCERS.get(event, ())
    setting = f"; nobody by default (`{WHEN_SENT[event]}`)" if event in WHEN_SENT else ""
    return ", ".join([stage.name for stage in STAGES if event in stage.outputs] + [*outside]) + setting


def _readers(event: type[Event]) -> str:
    return ", ".join(stage.name for stage in STAGES if event in stage.inputs) or "subscribers"
