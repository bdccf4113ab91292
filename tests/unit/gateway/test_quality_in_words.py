"""The quality of a page in words."""

import pytest

from streams.gateway.page.response import describe_quality

CASES = [
    ({}, ()),
    ({"prose": 0.5}, ()),  # of a release without a score
    ({"score": 1.0, "prose": 1.0, "ads": 1.0}, (("All together", "100 of 100"),)),
    ({"score": 0.4, "prose": 0.4, "new": 0.2}, (("All together", "40 of 100"), ("Whole sentences", "40 of 100"))),
]


@pytest.mark.parametrize(("fields", "expected"), CASES)
def test_only_parts_that_fall_are_listed(fields: dict[str, float], expected: tuple[tuple[str, str], ...]) -> None:
    assert describe_quality(fields) == expected
