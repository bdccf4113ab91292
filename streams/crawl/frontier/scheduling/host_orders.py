"""The orders of operators for hosts: blocked, slower, another budget, a queue to drop. The frontier reads them again
every few seconds; commands write them."""

from collections.abc import Callable

from streams.crawl.frontier.policy import SECOND
from streams.stores.protocols import FrontierStore, HostOrder

READ_AGAIN_MICROS = 5 * SECOND
"""Time until the orders are read again (microseconds)."""
BLOCKED_MICROS = 30 * SECOND
"""Time until a blocked host is looked at again (microseconds)."""


class HostOrders:
    """All orders, as they were read last. Operators give few."""

    def __init__(self, store: FrontierStore, now: Callable[[], int]) -> None:
        self._store = store
        self._now = now
        self._orders: dict[str, HostOrder] = {}
        self._read_at = 0

    async def of(self, host: str) -> HostOrder:
        """Return the order for a host, or one that changes nothing."""
        if self._now() >= self._read_at + READ_AGAIN_MICROS or self._now() < self._read_at:
            self._orders = {order.host: order for order in await self._store.orders()}
            self._read_at = self._now()
        return self._orders.get(host) or HostOrder(host)
