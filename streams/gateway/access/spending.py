"""The work that clients asked for, by client and day (number since 1970-01-01 UTC): a note of each gateway.

A gateway writes only its own note, and always its whole sum: no write is lost, and none counts twice.
"""

from dataclasses import dataclass

from streams.stores.protocols import Notes
from streams.stores.row_codec import pack_fields, read_fields

SPENDING_SECONDS = 3 * 86_400
"""Time for which the spending of a day is kept (seconds)."""


@dataclass(frozen=True, slots=True)
class Spending:
    """The work of one gateway for a client on one day."""

    spent: int
    """Work units that this gateway has done for the client on this day."""
    tokens: float
    """Work units in the client's bucket."""
    at: int
    """Time of `tokens` (microseconds since 1970 UTC)."""


async def put_spending(notes: Notes, client: str, day: int, gateway: str, spending: Spending) -> None:
    """Store the sum of a gateway."""
    await notes.put(_shelf(client, day), gateway, pack_fields(spending), seconds=SPENDING_SECONDS, at=spending.at)


async def spending_of_day(notes: Notes, client: str, day: int) -> dict[str, Spending]:
    """Return the sums of all gateways, by gateway."""
    found = await notes.of_shelf(_shelf(client, day))
    return {gateway: read_fields(Spending, value) for gateway, value in found.items()}


def _shelf(client: str, day: int) -> str:
    return f"spent {day} {client}"
