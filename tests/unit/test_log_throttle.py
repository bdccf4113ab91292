"""The limit of what libraries log."""

import logging

from streams.logs import LINES_PER_KIND, LINES_PER_LIBRARY, WINDOW_SECONDS, LogThrottle

ADVICE = """
Aborting task %r: slow.

There are multiple possible explanations for this:
1) The processing of the stream is slow.
"""


def record(name: str, message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, "file", 1, message, args, None)


def test_a_client_whose_server_is_away_writes_few_lines_and_says_how_many_are_missing() -> None:
    throttle = LogThrottle(("aiokafka",))
    seen = [record("aiokafka.conn", "can't connect to %s", n) for n in range(500)]
    assert [throttle.filter(one) for one in seen].count(True) == LINES_PER_KIND
    others = [record("aiokafka.client", f"message {n}") for n in range(500)]
    assert [throttle.filter(one) for one in others].count(True) == LINES_PER_LIBRARY - LINES_PER_KIND
    later = record("aiokafka.conn", "can't connect to %s", 7)
    later.created += WINDOW_SECONDS
    assert throttle.filter(later)
    first, last = 500 - LINES_PER_KIND, 500 - (LINES_PER_LIBRARY - LINES_PER_KIND)
    assert others[0].getMessage() == f"message 0 ({first} lines of aiokafka were left out before)"
    assert later.getMessage() == f"can't connect to 7 ({last} lines of aiokafka were left out before)"


def test_the_advice_of_a_library_is_its_first_line() -> None:
    advice = record("faust.transport.drivers.aiokafka", ADVICE, "commit")
    assert LogThrottle(("faust",)).filter(advice)
    assert advice.getMessage() == "Aborting task 'commit': slow."


def test_riffle_and_other_libraries_are_not_limited() -> None:
    throttle = LogThrottle(("faust",))
    assert all(throttle.filter(record("streams.runtime", ADVICE, n)) for n in range(1_000))
    assert all(throttle.filter(record("faustine", "x")) for _ in range(1_000)), "the name of a library is whole"
