"""What became of a page, and what comes next, read from its history. Pure.

`riffle page URL` and the web page "why is this (not) indexed?" show `status_of` and `next_step` above the history; the
line of each transition was written by the ledger stage with `describe`.

A page has a standing (what searches see: indexed, a duplicate, refused, ...) and perhaps something under way: a recrawl
that isn't through yet leaves the page searchable as it was.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from streams.ledger.descriptions import describe, duplicate_words, fetch_words, indexed_words, removal_words
from streams.stores.protocols import Transition
from streams.topology import STAGES

__all__ = ["describe", "next_step", "status_of"]

_JOURNEY = {
    "pages.discovered": "discovered, not yet scheduled",
    "pages.scheduled": "scheduled, not yet fetched",
    "pages.fetched": "fetched, not yet normalized",
    "pages.normalized": "normalized, not yet compared with other pages",
    "pages.deduplicated": "unique, not yet cut into statements",
    "pages.chunked": "cut into statements, not yet embedded",
    "pages.embedded": "embedded, not yet indexed",
    "pages.indexed": "",
    "pages.removed": "",
    "pages.settled": "",
}
"""What a page waits for after each event, in the order of a page's journey."""
_ORDER = {topic: number for number, topic in enumerate(_JOURNEY)}
_CONSUMERS = {
    "pages.discovered": "frontier",
    "pages.scheduled": "fetch",
    "pages.fetched": "normalize",
    "pages.normalized": "dedup",
    "pages.deduplicated": "statements",
    "pages.chunked": "embed",
    "pages.embedded": "index",
}
"""The stage that takes a page further."""
assert set(_CONSUMERS.values()) <= {stage.name for stage in STAGES}


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is known so far of a page, event by event."""

    words: str = ""
    """What searches see of it; empty when nothing was decided yet."""
    decided_by: str = ""
    """The topic that said so."""
    generation: int = 0
    """The fetch that it comes from."""
    waiting: str = ""
    """The topic of the event that nothing has followed yet; empty when nothing is under way."""
    retrying: str = ""
    """The last fetch's failure, when it is to be tried again."""

    @property
    def searchable(self) -> bool:
        return self.decided_by == "pages.indexed"


def status_of(history: Iterable[Transition]) -> str:
    """What became of the page, in a sentence."""
    standing, steps = _standing(history)
    if not steps:
        return "Unknown: no event about this page was ever seen"
    if not standing.words:
        return f"Waiting: {_waits_for(standing)}" if standing.waiting else "Waiting: nothing was decided yet"
    if standing.waiting and standing.waiting != "pages.discovered":
        return f"{standing.words}. Under way again: {_waits_for(standing)}"
    return standing.words


def next_step(history: Iterable[Transition]) -> str:
    """What happens next without anyone's doing, or what a person can do."""
    standing, steps = _standing(history)
    if not steps:
        return "Crawl it: riffle crawl URL"
    if standing.waiting:
        stage = _CONSUMERS[standing.waiting]
        when = " at its host's pace" if stage in ("frontier", "fetch") else ""
        return f"The {stage} stage takes it further{when}. If it doesn't: riffle dead-letters list --stage {stage}"
    if standing.searchable:
        return "Nothing to do: searches find it"
    if standing.decided_by == "pages.deduplicated" or "uplicate" in standing.words:
        return "Nothing to do: the page that it is a duplicate of is searchable in its place"
    if standing.words.startswith("Redirects"):
        return "Look at the page that it redirects to"
    return "Nothing happens by itself until it is due again; to fetch it now: riffle crawl URL"


def _standing(history: Iterable[Transition]) -> tuple[_Standing, int]:
    """The page's standing, and how many transitions are about the page itself (not robots.txt or a sitemap)."""
    steps = sorted(
        (step for step in history if step.data.get("purpose", "page") == "page"),
        key=lambda step: (step.at, _ORDER.get(step.topic, len(_ORDER))),
    )
    standing = _Standing()
    for step in steps:
        standing = _after(standing, step)
    return standing, len(steps)


def _after(before: _Standing, step: Transition) -> _Standing:
    generation = step.data.get("generation", before.generation)
    if generation < before.generation:
        return before  # a late copy about content that was replaced since
    if words := _decision(before, step, generation):
        return _Standing(words, step.topic, generation)
    match step.topic:
        case "pages.discovered" if before.words or before.waiting:
            return before  # seen once more: by one more link
        case "pages.settled":
            waiting = before.waiting if step.data.get("verdict") == "changed" else ""
        case "pages.fetched" if step.data.get("outcome") != "ok":
            return _after_failure(before, step, generation)
        case _:
            waiting = step.topic if step.topic in _CONSUMERS else before.waiting
    return replace(before, waiting=waiting, retrying="", generation=generation)


def _decision(before: _Standing, step: Transition, generation: int) -> str:
    """The new standing, if this transition decides one."""
    data = step.data
    match step.topic:
        case "pages.indexed":
            return indexed_words(data)
        case "pages.removed":
            return removal_words(data)
        case "pages.deduplicated" if data.get("canonical_page_id") != data.get("page_id"):
            return duplicate_words(data)
        case "pages.settled":
            return _settled_words(before, data.get("verdict", ""), generation)
    return ""


def _settled_words(before: _Standing, verdict: str, generation: int) -> str:
    """The verdict on a fetch, where nothing that says more was said about the same fetch."""
    said = before.decided_by in ("pages.removed", "pages.deduplicated", "pages.fetched")
    if said and before.generation == generation:
        return before.words
    return {
        "soft_404": "Not indexed: the page says that there is nothing, though with status 200",
        "gone": "Removed: the page is gone",
        "refused": "Not indexed: not let in",
        "duplicate": "Duplicate of another page",
        "failed": "" if before.words else "Not indexed: it could not be fetched",
    }.get(verdict, "")


def _after_failure(before: _Standing, step: Transition, generation: int) -> _Standing:
    """A fetch without content. What is searchable stays so; who decides to take it out says so with PageRemoved."""
    words = fetch_words(step.data)
    if step.data.get("retryable"):
        return replace(before, waiting="pages.discovered", retrying=words, generation=generation)
    if before.searchable or step.data.get("outcome") == "not_modified":
        return replace(before, waiting="", retrying="", generation=generation)
    redirects = step.data.get("outcome") == "redirect"
    return _Standing(words if redirects else f"Not indexed: {words}", step.topic, generation)


def _waits_for(standing: _Standing) -> str:
    return standing.retrying or _JOURNEY[standing.waiting]
