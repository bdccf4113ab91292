"""The map of a page's journey: stages with inputs, outputs, concurrency and agent; topics with key and retention.

Everything that lists topics or stages reads this map: topic creation, `riffle worker`, the local stack, the diagram in
the docs, AsyncAPI. The stages are in the order of the journey.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from schemas import (
    EVENTS,
    EntityChanged,
    Event,
    HookDue,
    LinkFound,
    OperationAudited,
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
    QueryAsked,
    QueryMade,
    ResultClicked,
)
from streams.servers import Store

Order = Literal["key", "subject", "subject of a type", "none"]
PAGE_EVENTS = tuple(event for event in EVENTS if event.topic.startswith("pages.") or event is LinkFound)
"""The events of a page's history."""
_REPLAY = ".replay"
_URGENT = ".urgent"


@dataclass(frozen=True, slots=True)
class Topic:
    """A Kafka topic. `partitions` None: the number in the settings."""

    name: str
    key: str
    retention_hours: int = 7 * 24
    compacted: bool = False
    partitions: int | None = None
    personal: bool = False
    """True if the records may say something about a person. No backup has such records, and Kafka removes them within a
    day."""

    @property
    def segment_hours(self) -> int | None:
        """Age at which Kafka begins a new file (hours). None: Kafka's default, seven days. Kafka removes only whole
        files, so with that default a record would stay for seven days, whatever the retention is."""
        return 1 if self.personal else None


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: one consumer group and one worker type."""

    name: str
    says: str
    """The stage's purpose, in a line for people."""
    inputs: tuple[type[Event], ...]
    outputs: tuple[type[Event], ...]
    agent: str
    """`module:function` that builds the Agent from the settings and stores."""
    stores: tuple[Store, ...] = ("records",)
    late: tuple[Store, ...] = ()
    """The stores that the stage also works without, also named in `stores`. They are opened at their first use."""
    concurrency: int = 16
    """Maximum number of events in progress at once in one worker."""
    workers: int = 1
    """Number of workers in the local stack."""
    order: Order = "key"
    """The events that are handled one after the other: events with one record key, events with one subject (the page
    that they are about), events of one type with one subject, or none."""
    regional: bool = False
    """True if each region of the settings has its own workers, in their own consumer group."""
    region: str = ""
    """The region of a regional stage's workers. See `in_regions`."""
    source: bool = False
    """True if the stage starts the journey of pages by itself. The stage pauses while a later one is too far behind."""
    urgent: tuple[type[Event], ...] = ()
    """The inputs that a command may send ahead of all others, since a person waits for the outcome."""
    beside_journey: bool = False
    """True if no page waits for this stage on its way into the index."""
    version: int = 0
    """Version of what the stage makes of a page. Raise it with each change of the result: then `riffle up` and
    `riffle doctor` say what to replay. 0: the index has nothing of the result."""

    @property
    def label(self) -> str:
        """The name with the region, if there is one: for metrics and lags."""
        return f"{self.name}-{self.region}" if self.region else self.name

    @property
    def group(self) -> str:
        return f"riffle-{self.label}"

    @property
    def retry_topic(self) -> str:
        return f"{self.name}.retry"

    @property
    def long_retry_topic(self) -> str:
        """The topic of events that are tried again after a long delay. Each retry topic has one delay, so that no event
        waits behind an event that is due later."""
        return f"{self.name}.retry-long"

    @property
    def replay_topic(self) -> str:
        """The topic of events that an operator has the stage handle again. A replay of millions delays no retry."""
        return f"{self.name}{_REPLAY}"

    @property
    def urgent_topic(self) -> str:
        """The topic of events that are handled before all others. It has records of each type in `urgent`."""
        return f"{self.name}{_URGENT}"

    @property
    def own_topics(self) -> tuple[str, ...]:
        """The topics that only this stage reads."""
        urgent = (self.urgent_topic,) if self.urgent else ()
        return (self.retry_topic, self.long_retry_topic, self.replay_topic, *urgent)

    @property
    def dead_topic(self) -> str:
        return f"{self.name}.dead"


STAGES: tuple[Stage, ...] = (
    Stage(
        name="frontier",
        says="decides which URL is fetched next, and when: URL rules, robots, politeness, budgets",
        inputs=(PageDiscovered, LinkFound, PageFetched, PageDeduplicated, PageSettled),
        outputs=(PageScheduled, PageDiscovered, OriginChanged, PageRemoved),
        agent="streams.crawl.frontier.agent:build",
        concurrency=1_800,  # events that wait for others of their host, to be written with them
        # The key is the host, and the stage locks it: events of a host are written together. The end of a page must
        # not be kept behind the page's answer, which waits for it.
        order="subject of a type",
        source=True,
        urgent=(PageDiscovered,),
    ),
    Stage(
        name="fetch",
        says="fetches one URL through the network guard",
        inputs=(PageScheduled,),
        outputs=(PageFetched,),
        agent="streams.crawl.fetch.agent:build",
        concurrency=32,
        regional=True,
    ),
    Stage(
        name="normalize",
        says="turns HTML into a semantic document, and finds its links",
        inputs=(PageFetched,),
        outputs=(PageNormalized, PageDiscovered, LinkFound, PageRemoved, PageSettled),
        agent="streams.pages.agent:build",
        concurrency=8,
        order="subject",  # the key is the host: an import of one large site is parsed side by side
        version=4,
    ),
    Stage(
        name="render",
        says="runs the scripts of pages without text in a browser; off by default",
        inputs=(PageNormalized,),
        outputs=(PageFetched,),
        agent="streams.render.agent:build",
        concurrency=2,
        beside_journey=True,
    ),
    Stage(
        name="dedup",
        says="finds exact and near duplicates and elects their representative",
        inputs=(PageNormalized, PageRemoved),
        outputs=(PageDeduplicated, PageRemoved, PageSettled),
        agent="streams.dedup.agent:build",
        stores=("records", "models"),  # the model's name says whether an unchanged page is indexed with this model
        late=("models",),
        urgent=(PageRemoved,),
    ),
    Stage(
        name="statements",
        says="splits the document into statements with their context",
        inputs=(PageDeduplicated,),
        outputs=(PageChunked, PageRemoved),
        agent="streams.statements.agent:build",
        stores=("records", "models"),
        concurrency=4,
        order="subject",  # the key is the host, since the frontier reads these events, too
        version=3,
    ),
    Stage(
        name="embed",
        says="turns statements into vectors",
        inputs=(PageChunked,),
        outputs=(PageEmbedded,),
        agent="streams.vectors.embed_agent:build",
        stores=("records", "models"),
        concurrency=8,
        version=1,
    ),
    Stage(
        name="index",
        says="makes pages searchable, and removes removed pages from the index",
        inputs=(PageEmbedded, PageRemoved),
        outputs=(PageIndexed,),
        agent="streams.vectors.index_agent:build",
        stores=("records", "vectors", "models"),
        concurrency=8,
        version=7,
        urgent=(PageRemoved,),
    ),
    Stage(
        name="links",
        says="collects which hosts link to a host, for its authority",
        inputs=(LinkFound, PageNormalized, PageRemoved),
        outputs=(LinkFound,),  # the links that a page lost: the worker of each linked host counts anew
        agent="streams.links.agent:build",
        concurrency=64,
        beside_journey=True,
    ),
    Stage(
        name="ledger",
        says="records each transition of each page",
        inputs=PAGE_EVENTS,
        outputs=(),
        agent="streams.ledger.agent:build",
        concurrency=1_800,  # events that wait for others of their page, to be written with them
        beside_journey=True,
        order="none",  # each event is a row of its own
    ),
    Stage(
        name="queries",
        says="counts the queries that enough people ask, and clicks on their results, where the operator collects them",
        inputs=(QueryAsked, ResultClicked),
        outputs=(),
        agent="streams.queries.collection.agent:build",
        concurrency=64,
        beside_journey=True,
    ),
    Stage(
        name="suggest",
        says="offers the titles of new pages as suggestions while people type",
        inputs=(PageIndexed,),
        outputs=(),
        agent="streams.queries.suggestions.agent:build",
        concurrency=512,
        beside_journey=True,
    ),
    Stage(
        name="hooks",
        says="tells programs by webhooks which pages became searchable, and which were removed",
        inputs=(PageIndexed, PageRemoved, HookDue),
        outputs=(HookDue,),
        agent="streams.hooks.agent:build",
        concurrency=256,
        beside_journey=True,
        order="none",  # no order is promised
    ),
    Stage(
        name="knowledge",
        says="merges what sources say about an entity, for its panel",
        inputs=(EntityChanged,),
        outputs=(),
        agent="streams.knowledge.agent:build",
        stores=("records", "vectors", "models"),
        concurrency=32,
        order="subject",  # the keys of redirects and own entities are not the entity
        beside_journey=True,
    ),
)


def in_regions(stages: tuple[Stage, ...], regions: Iterable[str]) -> tuple[Stage, ...]:
    """Return the stages, with a copy of each regional stage per region. Without regions, the stages stay as they are.

    Every region's group reads all events of the stage's topics, and skips the events of other regions.
    """
    names = sorted(regions)
    return tuple(
        each
        for one in stages
        for each in ((replace(one, region=name) for name in names) if one.regional and names else (one,))
    )


_COMPACTED = (OriginChanged, EntityChanged)
_PERSONAL = (QueryAsked, QueryMade, ResultClicked)
PERSONAL_HOURS = 22
"""Retention of the events of searches (hours). A file is up to an hour old when Kafka closes it, and Kafka needs some
minutes to remove the file. So no record is older than a day."""
AUDIT_DAYS = 365
"""Retention of the actions of operators (days)."""
_BY_NAME = {stage.name: stage for stage in STAGES}


VERSIONS = {stage.name: stage.version for stage in STAGES if stage.version}
"""The version of what each stage makes, in the order of the journey."""


def topics_of(events: tuple[type[Event], ...], stages: tuple[Stage, ...]) -> tuple[Topic, ...]:
    """Return the topics of some events and stages: one for each event, then each stage's topics of retries, replays and
    dead letters."""
    journey = (_topic(event) for event in events)
    failures = (_failure_topic(stage, name) for stage in stages for name in (*stage.own_topics, stage.dead_topic))
    return (*journey, *failures)


def _failure_topic(stage: Stage, name: str) -> Topic:
    """Return a topic of retries, replays or dead letters. Copies of personal records are as personal as the records."""
    if any(event in _PERSONAL for event in stage.inputs):
        return Topic(name, "as input", PERSONAL_HOURS, personal=True)
    return Topic(name, "as input", retention_hours=(90 if name == stage.dead_topic else 7) * 24)


def _topic(event: type[Event]) -> Topic:
    if event in _PERSONAL:
        return Topic(event.topic, event.key_field, PERSONAL_HOURS, personal=True)
    if event is OperationAudited:
        return Topic(event.topic, event.key_field, AUDIT_DAYS * 24)
    return Topic(event.topic, event.key_field, compacted=event in _COMPACTED)


TOPICS: tuple[Topic, ...] = topics_of(EVENTS, STAGES)
"""All topics, first the topics of the journey."""


def topics_needed(stages: tuple[Stage, ...]) -> tuple[Topic, ...]:
    """Return the topics that some stages read or write."""
    names = {event.topic for stage in stages for event in (*stage.inputs, *stage.outputs)}
    names |= {name for stage in stages for name in (*stage.own_topics, stage.dead_topic)}
    return tuple(topic for topic in topics_of(EVENTS, stages) if topic.name in names)


GATEWAY = "gateway"
"""Name of the gateway as a producer and as a principal."""
OUTSIDE_PRODUCERS: dict[type[Event], tuple[str, ...]] = {
    PageDiscovered: ("`riffle crawl`", GATEWAY),
    PageFetched: ("`riffle import`", GATEWAY),
    PageRemoved: ("operators", "`riffle import`", GATEWAY),
    QueryAsked: (GATEWAY,),
    QueryMade: (GATEWAY,),
    ResultClicked: (GATEWAY,),
    EntityChanged: ("`riffle import`",),
    OperationAudited: ("operators",),
    HookDue: (GATEWAY,),
}
"""Events with producers that are not stages, for the diagram and the docs."""
WHEN_SENT: dict[type[Event], str] = {
    QueryAsked: "RIFFLE_QUERIES__COLLECT",
    QueryMade: "RIFFLE_GATEWAY__PUBLISH_QUERIES",
    ResultClicked: "RIFFLE_GATEWAY__PUBLISH_CLICKS",
}
"""Events that nobody sends by default, and the setting with which they are sent."""


READER_GROUP = "riffle-reader-"
"""Prefix of the group of each command that reads a topic by itself. Such a group never commits an offset."""


@dataclass(frozen=True, order=True, slots=True)
class Grant:
    """A right: a principal may do an operation on a topic or consumer group with this name."""

    principal: str
    operation: Literal["read", "write", "describe"]
    kind: Literal["topic", "group"]
    name: str
    is_prefix: bool = False
    """True if the rule is for all names that begin with this one: the groups of a regional stage."""


def grants(stages: tuple[Stage, ...] = STAGES) -> list[Grant]:
    """Return the rights of each stage and of the gateway in Kafka, sorted, each once. What is not granted is denied.

    A stage may read its inputs and its own topics with its consumer group, and write its outputs, its retry topics and
    its dead letters. Replays are written by operators. A stage that starts the journey of pages also sees how far
    behind the later stages are.
    """
    produced = [event for event, producers in OUTSIDE_PRODUCERS.items() if GATEWAY in producers]
    ahead = [one.urgent_topic for one in stages if set(one.urgent) & set(produced)]
    of_gateway = (Grant(GATEWAY, "write", "topic", topic) for topic in (*(event.topic for event in produced), *ahead))
    read = [Grant(GATEWAY, "read", "topic", event.topic) for event in (PageFetched, PageIndexed, PageRemoved)]
    read.append(Grant(GATEWAY, "read", "group", READER_GROUP, is_prefix=True))
    return sorted({*of_gateway, *read, *(grant for one in stages for grant in stage_grants(one, stages))})


def stage_grants(one: Stage, stages: tuple[Stage, ...] = STAGES) -> Iterator[Grant]:
    """Yield the grants of one stage. Reading and writing a topic include describing the topic."""
    yield from (Grant(one.name, "read", "topic", topic) for topic in _input_topics(one))
    for topic in (*(event.topic for event in one.outputs), one.retry_topic, one.long_retry_topic, one.dead_topic):
        yield Grant(one.name, "write", "topic", topic)
    yield Grant(one.name, "read", "group", one.group, one.regional)
    if one.source:
        for later in (other for other in stages if not other.source):
            yield from lag_grants(one.name, later)


def lag_grants(principal: str, one: Stage) -> Iterator[Grant]:
    """Yield the grants with which a principal sees how far behind a stage is."""
    yield Grant(principal, "describe", "group", one.group, one.regional)
    yield from (Grant(principal, "describe", "topic", topic) for topic in _input_topics(one))


def _input_topics(one: Stage) -> tuple[str, ...]:
    return (*(event.topic for event in one.inputs), *one.own_topics)


def is_replay_topic(topic: str) -> bool:
    """Return True if the topic is a stage's topic of replays."""
    return topic.endswith(_REPLAY)


def is_urgent_topic(topic: str) -> bool:
    """Return True if the topic is a stage's topic of urgent events."""
    return topic.endswith(_URGENT)


def stage(name: str) -> Stage:
    """Return the stage with this name. Raises KeyError with the names of all stages."""
    try:
        return _BY_NAME[name]
    except KeyError:
        raise KeyError(f"no stage {name!r}; the stages are {', '.join(_BY_NAME)}") from None
