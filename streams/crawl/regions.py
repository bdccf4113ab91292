"""The region that crawls a host, by rule. Pure.

A region has suffixes of host names: the longest suffix of a host decides. Hosts without a suffix are spread over all
regions by a hash (rendezvous hashing), so that adding or removing a region moves only its own share of the hosts.
"""

from collections.abc import Mapping, Sequence

import xxhash


class Regions:
    """The rules of the settings: region -> suffixes of its hosts."""

    def __init__(self, suffixes: Mapping[str, Sequence[str]]) -> None:
        self._names = sorted(suffixes)
        self._by_suffix = {suffix: name for name, listed in suffixes.items() for suffix in listed}

    def of(self, host: str) -> str:
        """Return the region of a host. Empty if there are no regions."""
        labels = host.split(".")
        for start in range(len(labels)):
            if region := self._by_suffix.get(".".join(labels[start:])):
                return region
        return max(self._names, key=lambda name: xxhash.xxh3_64_intdigest(f"{name}/{host}".encode()), default="")
