"""A bucket of work units that all gateways share, without a lock. Pure.

Each gateway writes one row: the units that it has done for the client on this day, and the units in the bucket as it
sees them. It reads the rows of the others now and then, and takes away from its own bucket what they have done since.
So between two reads a client may get more than its bucket has, at most once the bucket from each gateway; the bucket
then goes below zero, and the client waits the longer. Over a longer time nobody gets more than the rate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.stores.protocols import Notes
from streams.stores.rows import pack_row, unpack_row

MINUTE_SECONDS = 60.0
DAY_SECONDS = 86_400


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


@dataclass(frozen=True, slots=True)
class Allowance:
    """The budgets of a client. 0: no limit."""

    per_window: int = 0
    """Work units that are added to the bucket in a window of time, and the most that it holds."""
    per_day: int = 0
    """Maximum work units of a day (UTC)."""
    window_seconds: float = MINUTE_SECONDS

    @property
    def is_limited(self) -> bool:
        return bool(self.per_window or self.per_day)

    @property
    def rate(self) -> float:
        """Work units that are added to the bucket in a second."""
        return self.per_window / self.window_seconds


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a request that wants to begin, and the rest of the budgets."""

    allowed: bool
    allowance: Allowance
    window_left: int = 0
    """Whole work units in the bucket."""
    window_reset: int = 0
    """Time until the bucket is full (seconds)."""
    day_left: int = 0
    day_reset: int = 0
    """Time until the next day begins (seconds)."""
    retry_after: int = 0
    """Time until the request may begin (seconds)."""

    def headers(self) -> dict[str, str]:
        """Return the fields of draft-ietf-httpapi-ratelimit-headers (revision 10): the policies, and what is left."""
        policies, left = [], []
        if self.allowance.per_window:
            policies.append(f'"minute";q={self.allowance.per_window};w={self.allowance.window_seconds:.0f}')
            left.append(f'"minute";r={self.window_left};t={self.window_reset}')
        if self.allowance.per_day:
            policies.append(f'"day";q={self.allowance.per_day};w={DAY_SECONDS}')
            left.append(f'"day";r={self.day_left};t={self.day_reset}')
        return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(left)} if policies else {}


@dataclass(slots=True)
class Bucket:
    """One client's bucket at one gateway, and its work of one day. Times are in seconds since 1970 UTC."""

    day: int
    allowance: Allowance
    tokens: float
    at: float
    spent: int = 0
    """Work units that this gateway has done on this day."""
    others: dict[str, int] = field(default_factory=dict)
    """Work units that the other gateways have done on this day, as far as it is known."""

    @classmethod
    def full(cls, allowance: Allowance, now: float) -> "Bucket":
        return cls(int(now // DAY_SECONDS), allowance, float(allowance.per_window), now)

    def admit(self, allowance: Allowance, now: float) -> Verdict:
        """Return whether a request may begin. A request of any cost may begin while a work unit is left."""
        self._advance(allowance, now)
        day_left = allowance.per_day - self.spent - sum(self.others.values())
        day_reset = DAY_SECONDS - int(now % DAY_SECONDS)
        waits = [day_reset] if allowance.per_day and day_left < 1 else []
        rate = allowance.rate
        if allowance.per_window and self.tokens < 1:
            waits.append(int((1 - self.tokens) / rate) + 1)
        return Verdict(
            allowed=not waits,
            allowance=allowance,
            window_left=max(0, int(self.tokens)),
            window_reset=int((allowance.per_window - self.tokens) / rate + 0.999) if rate else 0,
            day_left=max(0, day_left),
            day_reset=day_reset,
            retry_after=max(waits, default=0),
        )

    def spend(self, cost: int) -> None:
        """Count work. The bucket may go below zero: the client then waits until it is above again."""
        self.spent += cost
        self.tokens -= cost

    def merge(self, rows: Mapping[str, Spending], *, first: bool) -> None:
        """Take away what other gateways have done since the last rows. `first`: there were no rows before."""
        for gateway, row in rows.items():
            self.tokens -= 0 if first else max(0, row.spent - self.others.get(gateway, 0))
            self.others[gateway] = max(row.spent, self.others.get(gateway, 0))
        if first and rows:
            self.tokens = min(self.tokens, *(self._now(row) for row in rows.values()))

    def row(self) -> Spending:
        return Spending(self.spent, self.tokens, int(self.at * 1e6))

    def _now(self, row: Spending) -> float:
        """Return the units that are now in the bucket which another gateway saw some time ago."""
        return row.tokens + max(0.0, self.at - row.at / 1e6) * self.allowance.rate

    def _advance(self, allowance: Allowance, now: float) -> None:
        """Add what has flowed into the bucket. A new day has no work yet. A new allowance holds from now on."""
        seconds = max(0.0, now - self.at)
        filled = self.tokens + seconds * allowance.rate
        if allowance.per_window > self.allowance.per_window:
            filled += allowance.per_window - self.allowance.per_window
        self.tokens, self.at, self.allowance = min(float(allowance.per_window), filled), max(now, self.at), allowance
        day = int(now // DAY_SECONDS)
        if day > self.day:
            self.day, self.spent, self.others = day, 0, {}


async def put_spending(notes: Notes, client: str, day: int, gateway: str, spending: Spending) -> None:
    """Store the sum of a gateway."""
    await notes.put(_shelf(client, day), gateway, pack_row(spending), seconds=SPENDING_SECONDS, at=spending.at)


async def spending_of_day(notes: Notes, client: str, day: int) -> dict[str, Spending]:
    """Return the sums of all gateways, by gateway."""
    found = await notes.of_shelf(_shelf(client, day))
    return {gateway: unpack_row(Spending, value) for gateway, value in found.items()}


def _shelf(client: str, day: int) -> str:
    return f"spent {day} {client}"


SEARCH = 1
"""Work units of a first page of a plain query. The other costs compare with it."""
DEPTH_RESULTS = 50
"""Number of results that one more work unit reaches."""
OPERATORS_FREE = 2
"""Number of operators that cost nothing more. Each further one costs a unit."""
RERANK = 1
"""A cross-encoder that reads the first results."""
PAGE = 1
"""The record of a page, or a part of its content."""
SIMILAR = 2
"""A search by the content of a page."""
FETCH = 10
"""A page that is fetched now."""
EMBEDDED_TEXTS = 10
"""Number of texts that are embedded for one work unit."""
ANSWER = 20
"""An answer by a language model."""


def cost_of_search(page: int, per_page: int, operators: int, *, reranks: bool) -> int:
    """Return the work units of a search for a page of results, with this number of operators."""
    deeper = (page * per_page - 1) // DEPTH_RESULTS
    return SEARCH + deeper + max(0, operators - OPERATORS_FREE) + (RERANK if reranks else 0)
