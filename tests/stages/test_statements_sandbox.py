"""Drafting in killable processes: a page that uses one up is refused with a reason, and the next page is drafted."""

import pytest

from schemas import PageChunked, PageRemoved
from streams.errors import Refused, TransientError
from streams.pages.document.codec import encode_document
from streams.pages.document.model import Block, Container, Document
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool
from streams.statements.agent import StatementsAgent
from streams.statements.sandbox_tasks import DRAFT, MEMORY_BYTES, decode_drafts, draft
from streams.stores.opener import memory_stores
from tests.inline_sandbox import InlineSandbox
from tests.stages.test_vector_stages import BODY, PAGE, Journey


class RefusingSandbox(InlineSandbox):
    """A sandbox whose process died twice at the page."""

    def __init__(self) -> None:
        super().__init__(())

    async def run(self, task: str, payload: bytes) -> bytes:
        raise Refused("crash", "the process died 2 times")


class ClosingSandbox(RefusingSandbox):
    async def run(self, task: str, payload: bytes) -> bytes:
        raise TransientError("the processes are ending")


async def test_a_page_whose_drafting_is_killed_twice_is_refused_with_a_reason() -> None:
    journey = Journey(memory_stores())
    await journey.through(await journey.deduplicated(generation=1))
    agent = StatementsAgent(journey.stores, RefusingSandbox())
    (event,) = await agent.handle(journey.delivery(await journey.deduplicated(generation=2)))
    assert isinstance(event, PageRemoved)
    assert (event.reason, event.generation) == ("unsupported", 2)
    assert event.detail == "crash: the process died 2 times"
    assert (await journey.stores.pages.get(PAGE)).rows["chunked"]["refused"] == event.detail
    await journey.stages[-1].handle(journey.delivery(event))
    assert await journey.points() == [], "the statements of the former fetch are taken out"


async def test_a_closing_pool_is_no_verdict_on_the_page() -> None:
    journey = Journey(memory_stores())
    agent = StatementsAgent(journey.stores, ClosingSandbox())
    with pytest.raises(TransientError):
        await agent.handle(journey.delivery(await journey.deduplicated()))
    assert not (await journey.stores.pages.get(PAGE)).rows


async def test_the_next_page_is_drafted_after_one_that_used_up_its_process() -> None:
    journey = Journey(memory_stores())
    limits = Limits(cpu_seconds=0.5, memory_bytes=MEMORY_BYTES)
    async with SandboxPool((DRAFT,), processes=1, limits=limits, name="statements") as pool:
        agent = StatementsAgent(journey.stores, pool)
        heavy = [Block("p", "e.g. No. 5 J. " * 1_300)] * 40
        (removed,) = await agent.handle(journey.delivery(await journey.deduplicated(*heavy)))
        assert isinstance(removed, PageRemoved)
        assert str(removed.detail).startswith("time")
        (chunked,) = await agent.handle(journey.delivery(await journey.deduplicated(*BODY, generation=2)))
        assert isinstance(chunked, PageChunked)
        assert chunked.statements == 3


def test_drafts_survive_their_way_through_a_process() -> None:
    containers = (Container("table"), Container("tr", 0), Container("td", 1), Container("td", 1))
    blocks = (Block("h1", "A heading"), Block("p", "One. Two is here."), Block("p", "a", 2), Block("p", "b", 3))
    document = Document(url="https://a.test/", title="T", language="en", containers=containers, blocks=blocks)
    found = decode_drafts(draft(encode_document(document)))
    assert (found.title, found.language, found.left_out) == ("T", "en", 0)
    assert [(one.kind, one.text) for one in found.drafts] == [("sentence", "One. Two is here."), ("row", "a | b")]
    assert found.drafts[0].context == ("T", "A heading")
