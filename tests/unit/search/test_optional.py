"""The rest of a store that failed."""

from streams.search.optional import Rest


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_rest_begins_at_the_last_of_some_failures_in_a_row_and_ends() -> None:
    clock = Clock()
    rest = Rest(2.0, failures=3, clock=clock)

    def lasts() -> bool:
        return rest.lasts

    rest.failed()
    rest.failed()
    assert not lasts(), "two failures are too few"
    rest.succeeded()
    rest.failed()
    rest.failed()
    assert not lasts(), "an answer came in between"
    rest.failed()
    assert lasts()
    clock.now += 2.0
    assert not lasts(), "then one search tries it again"
    rest.failed()
    assert lasts(), "and one more failure is enough"
