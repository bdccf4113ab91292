"""The webhooks whose receivers take nothing: since when, and whether they are switched off. A shelf of notes has them.

A hook of which nothing is here is on.
"""

from dataclasses import dataclass, field

from streams.stores.protocols import Notes
from streams.stores.rows import Row, pack_row, unpack_row

OFF_AFTER_SECONDS = 3 * 86_400
"""Time without an event that was taken, after which a hook is switched off with its next failure (seconds)."""
MIN_FAILURES = 10
"""Failures in a row without which no hook is switched off: two events in a week may have met two short outages."""
KEPT_SECONDS = 366 * 86_400
CLEARED_SECONDS = 60
SHELF = "failing hooks"


@dataclass(frozen=True, slots=True)
class Failing:
    """A hook whose receiver takes nothing. Times are in microseconds since 1970 UTC."""

    since: int
    """Time of the first failure after the last event that was taken."""
    off: int = 0
    """Time at which it was switched off. 0: it is on."""
    why: str = ""
    """Why it was switched off."""
    stored: Row | None = field(default=None, repr=False, compare=False)


def after_failure(known: Failing | None, status: int, failures: int, now: int) -> Failing:
    """Return the state after a failure. `status`: of the answer. `failures`: their number in a row."""
    failing = known or Failing(now)
    if failing.off:
        return failing
    if status == 410:
        return Failing(failing.since, now, "the receiver answered 410: it is gone")
    if now - failing.since >= OFF_AFTER_SECONDS * 1_000_000 and failures >= MIN_FAILURES:
        return Failing(failing.since, now, f"the receiver took nothing for {OFF_AFTER_SECONDS // 86_400} days")
    return failing


async def read_failing(notes: Notes) -> dict[str, Failing]:
    """Return the hooks whose receivers take nothing, by their ids."""
    return {name: unpack_row(Failing, value) for name, value in (await notes.of_shelf(SHELF)).items() if value}


async def put_failing(notes: Notes, hook_id: str, failing: Failing | None) -> None:
    """Store the state of a hook. None: its receiver takes events again, or it is switched on."""
    value, seconds = (pack_row(failing), KEPT_SECONDS) if failing else (b"", CLEARED_SECONDS)
    await notes.put(SHELF, hook_id, value, seconds=seconds)
