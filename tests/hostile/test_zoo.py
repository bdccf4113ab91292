"""Each kind of bad server of the zoo ends in the outcome of its row, never in an exception; each trap ends."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streams.pages.sandbox.pool import ParsePool
from tests.hostile.rendered_pages import HOSTILE_PAGES
from tests.hostile.traps import OTHER, TRAPS, Trap, crawl
from tests.hostile.zoo import ZOO, Kind, meet


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParsePool]:
    async with ParsePool(1) as started:
        yield started


@pytest.mark.parametrize("kind", ZOO, ids=[kind.name for kind in ZOO])
async def test_a_bad_server_has_its_outcome(kind: Kind, tmp_path: Path) -> None:
    answer = await meet(kind, tmp_path)
    verdict = answer.verdict
    assert (verdict.outcome, verdict.retryable) == kind.outcome, verdict
    assert kind.says in (verdict.error or ""), verdict
    assert (answer.body is not None) == (verdict.outcome == "ok")


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.name for trap in TRAPS])
async def test_a_trap_ends_with_its_outcome_and_costs_the_other_pages_nothing(
    trap: Trap, pool: ParsePool, tmp_path: Path
) -> None:
    found = await crawl(trap, tmp_path, pool)
    assert found.outcome == trap.outcome
    assert len(found.answers) == trap.requests, found.paths
    assert set(OTHER) <= {path.partition("?")[0] for path in found.paths}
    assert {answer.outcome for answer in found.answers if answer.purpose == "page"} == {"ok"}


def test_the_zoo_has_a_hundred_kinds_each_once() -> None:
    assert len(ZOO) >= 100
    names = Counter(kind.name for kinds in (ZOO, TRAPS, HOSTILE_PAGES) for kind in kinds)
    assert [name for name, count in names.items() if count > 1] == []
