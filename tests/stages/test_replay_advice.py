"""An index made by earlier versions of stages: what `riffle doctor` and `riffle up` say, and that a replay mends it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemas import Event, PageFetched
from schemas.ids import page_id
from streams.dedup.agent import DedupAgent
from streams.dedup.sandbox_tasks import TASKS
from streams.doctor.findings import Level
from streams.doctor.searchable_pages import find_outdated, judge_searchable_pages
from streams.models.memory import MemoryEmbedder
from streams.models.protocols import Vectors
from streams.pages.agent import NormalizeAgent
from streams.pages.sandbox import normalizing
from streams.runtime.agent import Agent
from streams.statements import sandbox_tasks
from streams.statements.drafting import Draft, draft_statements
from streams.stores.opener import Stores, memory_stores
from streams.stores.protocols import Hit
from streams.topology import VERSIONS, stage
from streams.vectors import points
from streams.vectors.embed_agent import EmbedAgent
from streams.vectors.page_records import PageFacts
from tests.inline_sandbox import InlineSandbox, inline_parse_pool
from tests.stages.test_vector_stages import Journey

TEXT = "The log is copied back into the database when it has grown to a thousand pages, and a reader never waits."
NAMES = ("first", "second")
STAGES = ("normalize", "dedup", "statements", "embed", "index")


def url_of(name: str) -> str:
    return f"https://site.example/{name}"


class Index:
    """A page's way from its fetch into the index. The events of each stage are kept, as Kafka keeps them."""

    def __init__(self) -> None:
        self.stores: Stores = memory_stores()
        self.journey = Journey(self.stores)
        normalize = NormalizeAgent(self.stores, inline_parse_pool())
        dedup = DedupAgent(self.stores, InlineSandbox(TASKS))
        self.agents: dict[str, Agent] = dict(
            zip(
                ("normalize", "dedup", "statements", "embed", "index"),
                (normalize, dedup, *self.journey.stages),
                strict=True,
            )
        )
        self.inputs: dict[str, list[Event]] = {name: [] for name in self.agents}

    async def fetch(self, *names: str) -> None:
        for name in names:
            body = f"<title>The {name} page</title><main><h2 id=wal>Log</h2><p>{TEXT}<p>This is the {name} page.</main>"
            event = PageFetched(
                page_id=page_id(url_of(name)),
                url=url_of(name),
                host="site.example",
                outcome="ok",
                generation=1_000_000,
                body_ref=await self.stores.blobs.put(body.encode()),
            )
            await self._handle("normalize", event)

    async def replay(self, name: str) -> int:
        """Have a stage handle all its former inputs again, as `riffle replay --from NAME` does."""
        former = list(self.inputs[name])
        for event in former:
            await self._handle(name, event, topic=stage(name).replay_topic)
        return len(former)

    async def _handle(self, name: str, event: Event, topic: str = "") -> None:
        if not topic:
            self.inputs[name].append(event)
        delivery = self.journey.delivery(event)
        outputs = await self.agents[name].handle(replace(delivery, topic=topic or delivery.topic))
        following = list(self.agents)[list(self.agents).index(name) + 1 :]
        for output in outputs:
            if following and type(output) in stage(following[0]).inputs:
                await self._handle(following[0], output)

    async def says(self) -> list[str]:
        return [finding.says for finding in await judge_searchable_pages(self.stores.vectors)]

    async def advice(self) -> str:
        (finding,) = await judge_searchable_pages(self.stores.vectors)
        assert finding.level is Level.WARNING
        return finding.advice

    async def hits(self) -> list[Hit]:
        collection = await self.stores.vectors.active()
        assert collection
        return [hit for name in NAMES for hit in await self.stores.vectors.scroll(collection, page_id(url_of(name)))]


FINE = ["All searchable pages are whole, and of the present version of each stage"]


def other_title(monkeypatch: pytest.MonkeyPatch) -> Callable[[Hit], bool]:
    """Documents have another title."""
    made = normalizing.read_document

    def changed(body: bytes, **options: Any) -> Any:
        found = made(body, **options)
        return replace(found, document=replace(found.document, title=f"{found.document.title}, new"))

    monkeypatch.setattr(normalizing, "read_document", changed)
    return lambda hit: hit.payload.title.endswith(", new")


def other_drafts(monkeypatch: pytest.MonkeyPatch) -> Callable[[Hit], bool]:
    """Statements have another kind."""

    def changed(*arguments: Any) -> tuple[list[Draft], int]:
        drafts, left_out = draft_statements(*arguments)
        return [replace(draft, kind="item") for draft in drafts], left_out

    monkeypatch.setattr(sandbox_tasks, "draft_statements", changed)
    return lambda hit: hit.payload.kind == "item"


def other_vectors(monkeypatch: pytest.MonkeyPatch) -> Callable[[Hit], bool]:
    """The same model is given texts in another form: `new` has the texts that it saw."""
    embed, new = MemoryEmbedder.embed, set[str]()

    async def changed(self: MemoryEmbedder, texts: Sequence[str], *role: Any, **options: Any) -> Vectors:
        new.update(texts)
        return await embed(self, texts, *role, **options)

    monkeypatch.setattr(MemoryEmbedder, "embed", changed)
    return lambda hit: any(text.endswith(hit.payload.text) for text in new)


def other_payloads(monkeypatch: pytest.MonkeyPatch) -> Callable[[Hit], bool]:
    """Points have other facts."""
    monkeypatch.setattr(points, "sites_of", lambda host: ["new.example"])
    return lambda hit: hit.payload.sites == ("new.example",)


@pytest.mark.parametrize(
    ("name", "change"),
    [("normalize", other_title), ("statements", other_drafts), ("embed", other_vectors), ("index", other_payloads)],
)
async def test_a_replay_makes_the_pages_of_an_earlier_version_anew(
    name: str, change: Callable[[pytest.MonkeyPatch], Callable[[Hit], bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index()
    await index.fetch(*NAMES)
    assert await index.says() == FINE

    monkeypatch.setitem(VERSIONS, name, VERSIONS[name] + 1)
    is_new = change(monkeypatch)
    assert await index.says() == [
        f"2 searchable pages were made by an earlier version of the stage {name} or of a later one"
    ]
    assert f"riffle replay --from {name}." in await index.advice()
    assert not any(map(is_new, await index.hits()))

    index.agents["embed"] = EmbedAgent(index.stores)  # the worker of the new release
    assert await index.replay(name) == 2
    assert await index.says() == FINE
    hits = await index.hits()
    assert len(hits) == 4
    assert all(map(is_new, hits))


async def test_the_first_outdated_stage_is_named_and_its_replay_covers_the_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = Index()
    await index.fetch("first")
    monkeypatch.setitem(VERSIONS, "embed", 2)
    await index.fetch("second")
    assert "1 searchable page was made by an earlier version of the stage embed" in (await index.says())[0]
    monkeypatch.setitem(VERSIONS, "statements", VERSIONS["statements"] + 1)
    assert "2 searchable pages were made by an earlier version of the stage statements" in (await index.says())[0]
    await index.replay("statements")
    assert await index.says() == FINE


async def test_an_index_from_before_versions_is_replayed_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index()
    with monkeypatch.context() as before:
        before.setattr(PageFacts, "_asdict", _without_versions(PageFacts._asdict))
        await index.fetch(*NAMES)
    assert await index.says() == ["All searchable pages were made before stages had versions"]
    assert "riffle replay --from normalize." in await index.advice()
    await index.replay("normalize")
    assert await index.says() == FINE


def _without_versions(asdict: Any) -> Any:
    return lambda self: {**asdict(self), "made": ()}


async def test_an_empty_index_needs_nothing() -> None:
    index = Index()
    assert await index.says() == ["Nothing is searchable yet"]
    await index.stores.vectors.ensure(await index.stores.embedder.info())
    collection = await index.stores.vectors.active()
    assert collection
    assert await find_outdated(index.stores.vectors, collection) is None


async def test_a_page_that_is_searchable_in_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.statements.drafting.MAX_STATEMENTS", 1)
    index = Index()
    await index.fetch(*NAMES)
    (finding,) = await judge_searchable_pages(index.stores.vectors)
    line = "1 of about 2 statements are searchable: the page is too long for more"
    assert finding.level is Level.OK
    assert sorted(finding.details) == [f"{url_of(name)}: {line}" for name in NAMES]
    assert finding.says.startswith("Searchable in part: https://site.example/")
    assert finding.says.endswith(f"{line}, and 1 more")
