"""THE map: each stage, its inputs and outputs, key, concurrency and agent; each topic, its key and retention.

Everything that lists topics or stages reads it: topic creation, `riffle worker`, the diagram in the docs, AsyncAPI,
the Helm values for autoscaling. A page's journey is read from top to bottom.
"""

from dataclasses import dataclass
from typing import Literal

from schemas import (
    EVENTS,
    EntityChanged,
    Event,
    LinkFound,
    OriginChanged,
    PageChunked,
    PageDeduplicated,
    PageDiscovered,
    PageEmbedded,
    PageFetched,
    PageIndexed,
    PageNormalized,
    PageRemoved,
    PageScheduled,
    PageSettled,
    QueryMade,
    ResultClicked,
)

Store = Literal["cassandra", "qdrant", "triton"]


@dataclass(frozen=True, slots=True)
class Topic:
    """A Kafka topic. `partitions` None means the setting's default."""

    name: str
    key: str
    retention_hours: int = 7 * 24
    compacted: bool = False
    partitions: int | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: a consumer group, and a worker type of its own."""

    name: str
    says: str
    """What it does, in a line for people."""
    inputs: tuple[type[Event], ...]
    outputs: tuple[type[Event], ...]
    agent: str
    """`module:function` that builds the Agent from the settings and stores."""
    stores: tuple[Store, ...] = ()
    concurrency: int = 16
    """Events in progress at once in one worker; two with the same key never are."""
    workers: int = 1
    """Of the local stack."""

    @property
    def group(self) -> str:
        return f"riffle-{self.name}"

    @property
    def retry_topic(self) -> str:
        return f"{self.name}.retry"

    @property
    def dead_topic(self) -> str:
        return f"{self.name}.dead"


STAGES: tuple[Stage, ...] = (
    Stage(
        name="frontier",
        says="decides which URL is fetched next, and when: URL rules, robots, politeness, budgets",
        inputs=(PageDiscovered, PageFetched, PageSettled),
        outputs=(PageScheduled, PageDiscovered, OriginChanged, PageRemoved),
        agent="streams.crawl.frontier.agent:build",
        stores=("cassandra",),
        concurrency=64,
    ),
    Stage(
        name="fetch",
        says="fetches one URL through the network guard",
        inputs=(PageScheduled,),
        outputs=(PageFetched,),
        agent="streams.crawl.fetch.agent:build",
        stores=("cassandra",),
        concurrency=32,
    ),
    Stage(
        name="normalize",
        says="turns HTML into a clean semantic document, and finds its links",
        inputs=(PageFetched,),
        outputs=(PageNormalized, PageDiscovered, LinkFound, PageRemoved, PageSettled),
        agent="streams.pages.agent:build",
        stores=("cassandra",),
        concurrency=8,
    ),
    Stage(
        name="dedup",
        says="finds exact and near duplicates and elects the page that stands for them",
        inputs=(PageNormalized, PageRemoved),
        outputs=(PageDeduplicated, PageRemoved, PageSettled),
        agent="streams.dedup.agent:build",
        stores=("cassandra",),
    ),
    Stage(
        name="statements",
        says="cuts the document into statements that carry the context they need",
        inputs=(PageDeduplicated,),
        outputs=(PageChunked,),
        agent="streams.statements.agent:build",
        stores=("cassandra", "triton"),
        concurrency=4,
    ),
    Stage(
        name="embed",
        says="turns statements into vectors",
        inputs=(PageChunked,),
        outputs=(PageEmbedded,),
        agent="streams.vectors.embed_agent:build",
        stores=("cassandra", "triton"),
        concurrency=8,
    ),
    Stage(
        name="index",
        says="makes the page searchable, and takes removed pages out",
        inputs=(PageEmbedded, PageRemoved),
        outputs=(PageIndexed,),
        agent="streams.vectors.index_agent:build",
        stores=("cassandra", "qdrant", "triton"),
        concurrency=8,
    ),
    Stage(
        name="ledger",
        says="writes every transition of every page down",
        inputs=(
            PageDiscovered,
            PageScheduled,
            PageFetched,
            PageNormalized,
            PageDeduplicated,
            PageChunked,
            PageEmbedded,
            PageIndexed,
            PageRemoved,
            PageSettled,
        ),
        outputs=(),
        agent="streams.ledger.agent:build",
        stores=("cassandra",),
        concurrency=128,
    ),
)

_COMPACTED = (OriginChanged, EntityChanged)
_BY_NAME = {stage.name: stage for stage in STAGES}


def topics_of(events: tuple[type[Event], ...], stages: tuple[Stage, ...]) -> tuple[Topic, ...]:
    """A topic for each event, then the retry and dead-letter topics of each stage."""
    journey = (Topic(event.topic, event.key_field, compacted=event in _COMPACTED) for event in events)
    failures = (
        Topic(name, "as input", retention_hours=hours)
        for stage in stages
        for name, hours in ((stage.retry_topic, 7 * 24), (stage.dead_topic, 90 * 24))
    )
    return (*journey, *failures)


TOPICS: tuple[Topic, ...] = topics_of(EVENTS, STAGES)
"""Every topic, the journey's first."""

OUTSIDE_PRODUCERS: dict[type[Event], str] = {
    PageDiscovered: "`riffle crawl`",
    PageFetched: "`riffle import`",
    PageRemoved: "operators",
    QueryMade: "gateway",
    ResultClicked: "nobody yet",
    EntityChanged: "nobody yet",
}
"""Who else produces an event, for the diagram and the docs."""


def stage(name: str) -> Stage:
    """The stage of that name. Raises KeyError with the names that there are."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise KeyError(f"no stage {name!r}; the stages are {', '.join(_BY_NAME)}") from None
