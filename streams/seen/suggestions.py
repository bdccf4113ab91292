"""Suggestions, and the words of corrections, as one reader sees them. Pure.

What is made of pages is for those who may see enough of its sources: each suggestion and each word names some hosts
that have it, and how many of them its reader must see. So a site that becomes private takes its texts along as soon as
a process knows of it, with no build between, and what is stored stays as it is. The part of a suggestion that has no
page as its source stays: queries that enough people asked, and entities.

A build of a release before names no hosts: where a site is private, its texts of pages are not shown.
"""

from collections.abc import Callable, Iterable, Iterator

import msgpack

from streams.stores.protocols import StoredSuggestion, StoredWord

SeesHost = Callable[[str], bool]
"""Says whether a reader may see the pages of a host. None in its place: the reader sees all."""


def seen_suggestions(found: Iterable[StoredSuggestion], sees: SeesHost | None) -> list[StoredSuggestion]:
    """Return suggestions as a reader sees them, without their sources. A row that hides a text stays."""
    seen = []
    for each in found:
        weight = each.weight if each.weight < 0 or _has_enough(each, sees) else each.apart
        if weight or each.recent:
            seen.append(StoredSuggestion(each.text, each.language, weight, each.recent, each.quarter))
    return seen


def seen_words(values: Iterable[bytes], sees: SeesHost | None) -> list[StoredWord]:
    """Return the words of a build that a reader sees. `values`: the stored parts."""
    return [word for value in values for word in _read_words(value) if _has_enough(word, sees)]


def _has_enough(text: StoredSuggestion | StoredWord, sees: SeesHost | None) -> bool:
    return sees is None or sum(map(sees, text.hosts)) >= text.needs


def _read_words(value: bytes) -> Iterator[StoredWord]:
    rows = msgpack.unpackb(value, use_list=False) if value else ()
    if isinstance(rows, dict):  # of a release before
        return (StoredWord(word, weight) for word, weight in rows.items())
    return (StoredWord(*row[:4]) for row in rows)
