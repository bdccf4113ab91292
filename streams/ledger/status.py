"""A page's status, computed from its history: a value with a reason, not a sentence. Pure.

Only the data of the transitions is read. `streams.ledger.descriptions` renders the sentences for people from it.

A page has a status that was decided (indexed, duplicate, refused, ...), and perhaps a fetch under way: a page that is
fetched again keeps its status until a stage decides anew.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from streams.stores.protocols import Transition

Status = Literal["indexed", "duplicate", "redirected", "waiting", "removed", "refused", "not_indexed", "unknown"]
Reason = Literal[
    "exact_duplicate",
    "near_duplicate",
    "duplicate",
    "redirect",
    "gone",
    "request",
    "noindex",
    "blocked",
    "refused",
    "unsupported",
    "soft_404",
    "fetch_failed",
    "other",
]
NextStage = Literal["frontier", "fetch", "normalize", "dedup", "statements", "embed", "index"]
NextStep = Literal["none", "wait", "crawl", "crawl_again", "see_representative", "see_redirect"]

_NEXT_STAGE: dict[str, NextStage] = {
    "pages.discovered": "frontier",
    "pages.scheduled": "fetch",
    "pages.fetched": "normalize",
    "pages.normalized": "dedup",
    "pages.deduplicated": "statements",
    "pages.chunked": "embed",
    "pages.embedded": "index",
}
"""The stage that handles a page after each event, in the order of a page's journey."""
_ORDER = {
    topic: number
    for number, topic in enumerate(("links.found", *_NEXT_STAGE, "pages.indexed", "pages.removed", "pages.settled"))
}

_REMOVED: dict[str, tuple[Status, Reason]] = {
    # the reason of a PageRemoved: status, reason
    "gone": ("removed", "gone"),
    "request": ("removed", "request"),
    "noindex": ("refused", "noindex"),
    "blocked": ("refused", "blocked"),
    "refused": ("refused", "refused"),
    "unsupported": ("not_indexed", "unsupported"),
    "duplicate": ("duplicate", "duplicate"),
}
_SETTLED: dict[str, tuple[Status, Reason]] = {
    # the verdict of a PageSettled: status, reason. Verdicts that decide nothing are not here.
    "soft_404": ("not_indexed", "soft_404"),
    "gone": ("removed", "gone"),
    "refused": ("not_indexed", "refused"),
    "duplicate": ("duplicate", "duplicate"),
    "failed": ("not_indexed", "fetch_failed"),
}
_DUPLICATES: dict[str, Reason] = {"exact": "exact_duplicate", "near": "near_duplicate"}
"""The reason for each verdict of a PageDeduplicated."""


class FetchFailure(BaseModel):
    """The reason why a fetch brought no content."""

    model_config = ConfigDict(frozen=True)

    outcome: str = Field(description="As in `pages.fetched`, such as `timeout`; or `lease_expired`: no request.")
    http_status: int | None = Field(None, description="Absent when the server gave no answer.")
    error: str = ""
    retryable: bool = Field(False, description="The frontier tries it again.")


class PageStatus(BaseModel):
    """A page's status, with the fields that its reason has."""

    model_config = ConfigDict(frozen=True)

    status: Status
    reason: Reason | None = Field(None, description="Why the page has this status; absent where the status says it.")
    detail: str = Field("", description="The words of the stage that decided.")
    statements: int | None = Field(None, description="How many statements are searchable, if the page is indexed.")
    representative: UUID | None = Field(None, description="The page that is indexed in place of this duplicate.")
    distance: int | None = Field(None, description="Bits in which a near-duplicate's SimHash differs.")
    redirect_to: str | None = Field(None, description="The URL that the page redirects to.")
    failure: FetchFailure | None = Field(None, description="The failed fetch that is the reason for the status.")
    waits_for: NextStage | None = Field(None, description="The stage that handles the page next.")
    next_step: NextStep = Field("none", description="What happens next, or what a person can do.")


@dataclass(frozen=True, slots=True)
class _Known:
    """The knowledge about a page after some of its transitions."""

    decided: PageStatus | None = None
    decided_by: str = ""
    """The topic of the event that decided."""
    generation: int = 0
    waits_for: NextStage | None = None
    """The stage that handles the page next. None when no fetch is under way."""
    failure: FetchFailure | None = None
    """The failure of the last fetch, if the fetch will be tried again."""


def status_of(history: Iterable[Transition]) -> PageStatus:
    """Return the page's status after these transitions, given in any order."""
    steps = sorted(
        # Fetches of robots.txt and of sitemaps are not about the page itself.
        (step for step in history if step.data.get("purpose", "page") == "page"),
        key=lambda step: (step.at, _ORDER.get(step.topic, len(_ORDER))),
    )
    if not steps:
        return PageStatus(status="unknown", next_step="crawl")
    known = _Known()
    for step in steps:
        known = _apply_step(known, step)
    status = known.decided or PageStatus(
        status="waiting", reason="fetch_failed" if known.failure else None, failure=known.failure
    )
    return status.model_copy(update={"waits_for": known.waits_for, "next_step": _next_step(status, known.waits_for)})


def _next_step(status: PageStatus, waits_for: NextStage | None) -> NextStep:
    if waits_for:
        return "wait"
    match status.status:
        case "indexed":
            return "none"
        case "duplicate":
            return "see_representative"
        case "redirected":
            return "see_redirect"
    return "crawl_again"


def _apply_step(before: _Known, step: Transition) -> _Known:
    if step.topic not in _ORDER:
        return before  # an event of a stage beside the journey decides nothing
    if step.topic == "links.found":  # the event of another page: it never changes the status of this one
        return before if before.decided or before.waits_for else replace(before, waits_for="frontier")
    generation = step.data.get("generation", before.generation)
    if step.topic == "pages.scheduled":
        # There is no content yet. And a frontier that takes over may give the same lease again, with a higher
        # generation than the answer has: a fetcher answers a lease once.
        generation = before.generation
    if generation < before.generation:
        return before  # a late copy of an event about older content
    if decided := _decide_by_event(before, step, generation):
        return _Known(decided, step.topic, generation)
    waits_for = _NEXT_STAGE.get(step.topic, before.waits_for)
    match step.topic:
        case "pages.discovered" if before.decided or before.waits_for:
            return before  # another link to a page that is known already
        case "pages.settled" if step.data.get("verdict") == "changed":
            waits_for = before.waits_for
        case "pages.settled":
            waits_for = None
        case "pages.fetched" if step.data.get("outcome") != "ok":
            return _apply_failure(before, step, generation)
    return replace(before, waits_for=waits_for, failure=None, generation=generation)


def _decide_by_event(before: _Known, step: Transition, generation: int) -> PageStatus | None:
    """Return the status that this transition decides, if it decides one."""
    data = step.data
    match step.topic:
        case "pages.indexed":
            return PageStatus(status="indexed", statements=data.get("statements", 0))
        case "pages.removed":
            status, reason = _REMOVED.get(data.get("reason", ""), ("removed", "other"))
            return _make_status(status, reason, data, data.get("detail") or "")
        case "pages.deduplicated" if data.get("canonical_page_id") != data.get("page_id"):
            reason = _DUPLICATES.get(data.get("verdict", ""), "duplicate")
            distance = data.get("distance", 0) if reason == "near_duplicate" else None
            return _make_status("duplicate", reason, data).model_copy(update={"distance": distance})
        case "pages.settled":
            return _decide_by_verdict(before, data, generation)
    return None


def _make_status(status: Status, reason: Reason, data: Mapping[str, Any], detail: str = "") -> PageStatus:
    representative = _uuid(data.get("canonical_page_id")) if status == "duplicate" else None
    return PageStatus(status=status, reason=reason, detail=detail, representative=representative)


def _decide_by_verdict(before: _Known, data: Mapping[str, Any], generation: int) -> PageStatus | None:
    """Return the status by a fetch's verdict, unless an event with more detail has decided about the same fetch."""
    if before.decided and before.decided.reason == "request" and data.get("verdict") == "refused":
        return before.decided  # the removal on request holds
    detailed = before.decided_by in ("pages.removed", "pages.deduplicated", "pages.fetched")
    if detailed and before.generation == generation:
        return before.decided
    verdict = data.get("verdict", "")
    if verdict not in _SETTLED or (verdict == "failed" and before.decided):
        return None
    return _make_status(*_SETTLED[verdict], data)


def _apply_failure(before: _Known, step: Transition, generation: int) -> _Known:
    """Return the state after a fetch without content. An indexed page stays indexed until a PageRemoved."""
    outcome = step.data.get("outcome", "")
    if step.data.get("removed_on_request") and before.decided:
        return replace(before, waits_for=None, failure=None, generation=generation)
    failure = FetchFailure(
        outcome="lease_expired" if step.data.get("lease_expired") else outcome,
        http_status=step.data.get("status"),
        error=step.data.get("error") or "",
        retryable=bool(step.data.get("retryable")),
    )
    if failure.retryable:
        return replace(before, waits_for="frontier", failure=failure, generation=generation)
    if outcome == "not_modified" or (before.decided and before.decided.status == "indexed"):
        return replace(before, waits_for=None, failure=None, generation=generation)
    if outcome == "redirect":
        redirected = PageStatus(status="redirected", reason="redirect", redirect_to=step.data.get("redirect_to"))
        return _Known(redirected, step.topic, generation)
    return _Known(PageStatus(status="not_indexed", reason="fetch_failed", failure=failure), step.topic, generation)


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None
