"""The time from the fetch of a page until searches found it, for the alert about pages that are not fresh. Pure."""

HELD_SECONDS = 300.0
"""Time for which the age of the last page is shown. Later it says nothing about now: 0 is shown."""


class RecentAge:
    """The age of the last page that became searchable."""

    def __init__(self) -> None:
        self._age_seconds, self._noted = 0.0, float("-inf")

    def note(self, fetched: float, now: float) -> None:
        """Note a page that became searchable now. Both are seconds since 1970. An age is never below 0."""
        self._age_seconds, self._noted = max(now - fetched, 0.0), now

    def read(self, now: float) -> float:
        """Return the age (seconds); 0 if no page became searchable of late."""
        return self._age_seconds if now - self._noted < HELD_SECONDS else 0.0
