"""Each kind of bad server of the zoo ends in the outcome of its row, never in an exception."""

from collections import Counter
from pathlib import Path

import pytest

from tests.hostile.zoo import ZOO, Kind, meet

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hostile-servers.md"


@pytest.mark.parametrize("kind", ZOO, ids=[kind.name for kind in ZOO])
async def test_a_bad_server_has_its_outcome(kind: Kind, tmp_path: Path) -> None:
    answer = await meet(kind, tmp_path)
    verdict = answer.verdict
    assert (verdict.outcome, verdict.retryable) == kind.outcome, verdict
    assert kind.says in (verdict.error or ""), verdict
    assert (answer.body is not None) == (verdict.outcome == "ok")


def test_the_zoo_has_a_hundred_kinds_each_once() -> None:
    assert len(ZOO) >= 100
    assert [name for name, count in Counter(kind.name for kind in ZOO).items() if count > 1] == []


def test_the_reference_has_each_kind_with_its_outcome() -> None:
    rows = [line.split(" | ")[:3] for line in PAGE.read_text().splitlines() if line.startswith("| ") and "`" in line]
    expected = [[f"| {k.name}", f"`{k.outcome[0]}`", "yes" if k.outcome[1] else "no"] for k in ZOO]
    assert rows == expected, 'write the page again: make bench ARGS="zoo --page docs/reference/hostile-servers.md"'
