"""The colours that a person chooses are those that the browser's choice would give."""

import re
from pathlib import Path

STYLE = (Path(__file__).parents[3] / "streams/gateway/styles/riffle.css").read_text()


def values(block: str) -> dict[str, str]:
    return dict(re.findall(r"(--[a-z-]+): ([^;]+);", block))


def test_dark_is_dark_by_both_ways() -> None:
    preferred = re.search(r"prefers-color-scheme: dark\) \{\s*:root:not\(\[data-theme=\"light\"\]\) \{([^}]*)\}", STYLE)
    chosen = re.search(r":root\[data-theme=\"dark\"\] \{([^}]*)\}", STYLE)
    assert preferred
    assert chosen
    assert values(preferred[1]) == values(chosen[1]) != {}
