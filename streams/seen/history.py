"""The record and the history of a page, without what they say of pages that a reader may not see. Pure.

A step that an unseen page caused, such as a link on it, is left out: without that page it had not been. So is a
decision for an unseen page, which is of a time before its site was private.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from schemas import LinkFound, PageDiscovered
from streams.ledger.descriptions import describe_links
from streams.stores.page_record import Moved, PageRecord
from streams.stores.protocols import Transition

Shows = Callable[[str], bool]
"""Says whether a reader may see a page with this URL."""
_OF_OTHERS = frozenset({"changes", "overtaken"})
"""The fields of a decision that hold ids of other pages: notes of the stage for its next events."""


def named_pages(page: UUID, record: PageRecord, history: Iterable[Transition]) -> set[UUID]:
    """Return the representatives that the page has or had, without itself."""
    decisions = (*record.rows.values(), *(step.data for step in history))
    named = {str(values.get("canonical_page_id") or "") for values in decisions}
    return {UUID(each) for each in named if each} - {page}


def seen_history(history: Iterable[Transition], shows: Shows, unseen: Collection[UUID]) -> list[Transition]:
    """Return the steps that a reader may see. `unseen`: the named pages that the reader may not see."""
    seen = (_seen_step(step, shows) for step in history)
    return [step for step in seen if step and not _names(step.data, unseen)]


def _seen_step(step: Transition, shows: Shows) -> Transition | None:
    """Return the step without unseen pages that lead to the page. None: no other page caused it."""
    several = step.data.get("referrers") or ()
    if not several:
        causes = (step.data.get("referrer"), step.data.get("source_url"))
        return None if any(url and not shows(url) for url in causes) else step
    shown = [url for url in several if shows(url)]
    if not shown or len(shown) == len(several):
        return step if shown else None
    others = {"referrer": shown[0], "source_url": shown[0], "referrers": shown}
    data = {name: others.get(name, value) for name, value in step.data.items()}
    return replace(step, outcome=describe_links(shown), data=data)


def is_known_by_link(history: Iterable[Transition], shows: Shows) -> bool:
    """Return whether a page that was not fetched is known by a cause that the reader may see: a seed, a link, a map."""
    found = [step for step in history if step.topic in (PageDiscovered.topic, LinkFound.topic)]
    return not found or any(_seen_step(step, shows) for step in found)


def seen_record(record: PageRecord, shows: Shows, unseen: Collection[UUID]) -> PageRecord:
    """Return the parts that a reader may see, in the same way."""
    rows = {part: row for part, row in record.rows.items() if part != Moved.PART or shows(record.moved.source)}
    return PageRecord({part: _without_others(row, shows, unseen) for part, row in rows.items()})


def _without_others(row: Mapping[str, Any], shows: Shows, unseen: Collection[UUID]) -> Mapping[str, Any]:
    url = row.get("canonical_url")
    names_unseen = _names(row, unseen) or (url is not None and not shows(url))
    hidden = _OF_OTHERS | ({"canonical_page_id", "canonical_url"} if names_unseen else set())
    return {name: value for name, value in row.items() if name not in hidden}


def _names(values: Mapping[str, Any], unseen: Collection[UUID]) -> bool:
    return str(values.get("canonical_page_id")) in {str(page) for page in unseen}
