"""The generations of a page that may be in the index, by the page's records. Pure."""

from streams.stores.removals import Parts, is_held_back

ALL_GENERATIONS = 1 << 62
"""A generation that is higher than any."""


def generation_of(parts: Parts, part: str) -> int:
    """The generation of a part of the records, or -1 if there is none."""
    return int(parts.get(part, {}).get("generation", -1))


def superseded_below(parts: Parts, generation: int) -> int | None:
    """The generation below which points are to be removed, if a newer page or a removal has replaced this one."""
    if is_held_back(parts):
        return ALL_GENERATIONS
    removed, indexed = generation_of(parts, "removed"), generation_of(parts, "indexed")
    below = max(removed + 1 if removed >= generation else 0, indexed if indexed > generation else 0)
    return below or None
