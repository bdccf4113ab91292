"""Times until which keys matter, by key. Pure.

The keys are hosts, domains and addresses: there are many, and most of them soon matter no longer.
"""

MIN_KEYS = 1_000
"""Number of keys from which on those are forgotten whose time has passed. At most half of the keys wait for it."""


class EndTimes(dict[str, float]):
    """A table of keys with the times until which they matter."""

    def __init__(self) -> None:
        super().__init__()
        self._most = MIN_KEYS

    def is_past(self, key: str, now: float) -> bool:
        """Return whether a key no longer matters. An unknown key doesn't."""
        return self.get(key, 0.0) <= now

    def forget_past(self, now: float) -> list[str]:
        """Forget the keys whose time has passed, now and then: so that costs O(1) a request. Return these keys."""
        if len(self) <= self._most:
            return []
        past = [key for key, until in self.items() if until <= now]
        for key in past:
            del self[key]
        self._most = max(MIN_KEYS, 2 * len(self))
        return past
