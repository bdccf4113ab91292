"""A page's status, computed from its history: a value with a reason, not a sentence. Pure.

The status is computed only from the data of the transitions. `streams.ledger.descriptions` renders the sentences for
people from it.

A page has a status that was decided (indexed, duplicate, refused, ...), and perhaps a fetch or content under way: a
page that is fetched again keeps its status until a stage decides anew.

The content and the last fetch each have a generation. A fetch that brings no new content (304, the same text, a
failure) is newer than the content that is still on its way through the stages, and does not outdate this content.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from schemas.pages import RefusedBy
from streams.plain_text import Sentence
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
NextStep = Literal[
    "none", "wait", "crawl", "crawl_again", "ask_owner", "ask_operator", "see_representative", "see_redirect"
]

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


_STEPS_BY_REASON: dict[Reason | None, NextStep] = {
    "noindex": "ask_owner",
    "blocked": "ask_operator",
    "request": "ask_operator",
    "unsupported": "none",
}
"""The reasons after which another crawl of the same page ends in the same way."""
_STEPS_BY_FAILURE: dict[str, NextStep] = {
    "guarded": "ask_operator",
    "too_large": "ask_operator",
    "unsupported_type": "none",
}
"""The same for failed fetches, by their outcome."""
_STEPS_BY_REFUSAL: dict[str | None, NextStep] = {"robots": "ask_owner", "address": "none"}
"""The same for URLs that were never requested, by what refused them."""
_WITHOUT_REQUEST = (("lease_expired", "lease_expired"), ("postponed", "postponed_seconds"))
"""Outcomes of leases that ended without a request, with the field of PageFetched that says so."""


class FetchFailure(BaseModel):
    """The reason why a fetch brought no content."""

    model_config = ConfigDict(frozen=True)

    outcome: str = Field(
        description="As in `pages.fetched`, such as `timeout`; or `lease_expired` or `postponed`: no request."
    )
    http_status: int | None = Field(None, description="Absent when the server gave no answer.")
    error: str = ""
    retryable: bool = Field(False, description="The frontier tries it again.")


class PageStatus(BaseModel):
    """A page's status, with the fields that its reason has."""

    model_config = ConfigDict(frozen=True)

    status: Status
    reason: Reason | None = Field(None, description="Why the page has this status; absent where the status says it.")
    detail: Sentence = Field("", description="The words of the stage that decided.")
    refused_by: RefusedBy | None = Field(None, description="The rule that refused the URL, if its reason is `refused`.")
    statements: int | None = Field(None, description="How many statements are searchable, if the page is indexed.")
    left_out: int | None = Field(None, description="About how many more a very long page has.")
    representative: UUID | None = Field(None, description="The page that is indexed in place of this duplicate.")
    distance: int | None = Field(None, description="Bits in which a near-duplicate's SimHash differs.")
    redirect_to: str | None = Field(None, description="The URL that the page redirects to.")
    failure: FetchFailure | None = Field(None, description="The failed fetch that is the reason for the status.")
    waits_for: NextStage | None = Field(None, description="The stage that handles the page next.")
    next_step: NextStep = Field("none", description="What happens next, or what a person can do.")


class PageState(NamedTuple):
    """The state of a page after some of its transitions: its status, and what decides how further events change it.

    A tuple, since each transition makes one: a changed copy of a dataclass takes three times as long.
    """

    decided: PageStatus | None = None
    decided_by: str = ""
    """The topic of the event that decided."""
    decided_generation: int = 0
    """The generation of the event that decided."""
    content_generation: int = 0
    """The generation of the newest content, or of the event that removed it. Events about older content come late."""
    content_stage: NextStage | None = None
    """The stage that handles the content next. None: no content is under way."""
    fetch_stage: NextStage | None = None
    """The stage that brings about the next fetch. None: no fetch is under way."""
    failure: FetchFailure | None = None
    """The failure of the last fetch, if the fetch will be tried again."""

    @property
    def waits_for(self) -> NextStage | None:
        return self.content_stage or self.fetch_stage


def status_of(history: Iterable[Transition]) -> PageStatus:
    """Return the page's status after these transitions, given in any order."""
    steps = _own_steps(history)
    if not steps:
        return PageStatus(status="unknown", next_step="crawl")
    known = _replay(steps)
    status = known.decided or PageStatus(
        status="waiting", reason="fetch_failed" if known.failure else None, failure=known.failure
    )
    return status.model_copy(update={"waits_for": known.waits_for, "next_step": _next_step(status, known.waits_for)})


def with_frontier(status: PageStatus, waits: str, *, is_asked_for: bool) -> PageStatus:
    """Return the status of a page that waits for the frontier, with what the frontier says of it now.

    `waits`: why it waits, in a sentence; `is_asked_for`: False if it is known by links, and no crawl has asked for it.
    """
    if status.status != "waiting" or status.waits_for != "frontier" or not waits:
        return status
    return status.model_copy(update={"detail": waits, "next_step": "wait" if is_asked_for else "crawl"})


def state_after(history: Iterable[Transition]) -> PageState:
    """Return the page's state after these transitions, given in any order.

    After the same further events, pages with the same state have the same status.
    """
    return _replay(_own_steps(history))


def _own_steps(history: Iterable[Transition]) -> list[Transition]:
    """Return the transitions about the page itself, in the order in which they are applied."""
    return sorted(
        # Fetches of robots.txt and of sitemaps are not about the page itself.
        (step for step in history if step.data.get("purpose", "page") == "page"),
        key=lambda step: (step.at, _ORDER.get(step.topic, len(_ORDER))),
    )


def _replay(steps: Sequence[Transition]) -> PageState:
    known, unchanged = PageState(), _unchanged_generations(steps)
    for step in steps:
        known = _apply_step(known, step, unchanged)
    return known


def _unchanged_generations(steps: Iterable[Transition]) -> frozenset[int]:
    """Return the generations of the fetches after which the page has the content that was known before."""
    return frozenset(step.data.get("generation", 0) for step in steps if _is_settled_unchanged(step))


def _is_settled_unchanged(step: Transition) -> bool:
    if step.topic == "pages.deduplicated":
        return step.data.get("settles") == "unchanged"
    return step.topic == "pages.settled" and (
        step.data.get("verdict") == "unchanged" or bool(step.data.get("in_place"))
    )


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
    if status.reason == "refused":
        return _STEPS_BY_REFUSAL.get(status.refused_by, "crawl_again")
    if status.failure:
        return _STEPS_BY_FAILURE.get(status.failure.outcome, "crawl_again")
    return _STEPS_BY_REASON.get(status.reason, "crawl_again")


def _apply_step(before: PageState, step: Transition, unchanged: frozenset[int]) -> PageState:
    if step.topic not in _ORDER:
        return before  # an event of a stage beside the journey decides nothing
    if step.topic in ("links.found", "pages.discovered"):
        # A link from another page never changes the status of this one.
        return before if before.decided or before.waits_for else before._replace(fetch_stage="frontier")
    if step.topic == "pages.scheduled":
        # There is no content yet. And a frontier that takes over may give the same lease again, with a higher
        # generation than the answer has: a fetcher answers a lease once.
        return before._replace(fetch_stage="fetch", failure=None)
    generation = step.data.get("generation", before.content_generation)
    if generation < before.content_generation:
        return _end_older_fetch(before, step, generation)
    if decided := _decide_by_event(before, step, generation):
        if step.data.get("verdict") == "failed":  # the verdict of a fetch: content that is under way goes on
            return before._replace(
                decided=decided, decided_by=step.topic, decided_generation=generation, fetch_stage=None
            )
        return PageState(decided, step.topic, generation, generation)
    if step.topic == "pages.fetched" and step.data.get("outcome") != "ok":
        return _apply_failure(before, step, generation)
    if generation in unchanged or step.data.get("verdict") == "failed":  # no new content: the generation stays
        return before._replace(fetch_stage=None, failure=None)
    stage = _NEXT_STAGE.get(step.topic)
    if step.topic == "pages.settled":
        stage = before.content_stage if step.data.get("verdict") == "changed" else None
    return before._replace(content_generation=generation, content_stage=stage, fetch_stage=None, failure=None)


def _end_older_fetch(before: PageState, step: Transition, generation: int) -> PageState:
    """Return the state after a late event about older content, such as content of a page that was removed meanwhile.

    It decides nothing, but the answer of a fetch ends the fetch.
    """
    if step.topic != "pages.fetched":
        return before
    if step.data.get("retryable"):
        return _apply_failure(before, step, generation)
    return before._replace(fetch_stage=None, failure=None)


def _decide_by_event(before: PageState, step: Transition, generation: int) -> PageStatus | None:
    """Return the status that this transition decides, or None."""
    data = step.data
    match step.topic:
        case "pages.indexed":
            left_out = data.get("left_out") or None
            return PageStatus(status="indexed", statements=data.get("statements", 0), left_out=left_out)
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
    representative = _parse_uuid(data.get("canonical_page_id")) if status == "duplicate" else None
    refused_by = data.get("refused_by") if reason == "refused" else None
    return PageStatus(status=status, reason=reason, detail=detail, representative=representative, refused_by=refused_by)


def _decide_by_verdict(before: PageState, data: Mapping[str, Any], generation: int) -> PageStatus | None:
    """Return the status by a fetch's verdict. An event with more detail about the same fetch has precedence."""
    if before.decided and before.decided.reason == "request" and data.get("verdict") == "refused":
        return before.decided  # the removal on request holds
    detailed = before.decided_by in ("pages.removed", "pages.deduplicated", "pages.fetched")
    if detailed and before.decided_generation == generation:
        return before.decided
    verdict = data.get("verdict", "")
    if verdict not in _SETTLED or (verdict == "failed" and before.decided):
        return None
    return _make_status(*_SETTLED[verdict], data)


def _apply_failure(before: PageState, step: Transition, generation: int) -> PageState:
    """Return the state after a fetch without content. An indexed page stays indexed until a PageRemoved.

    A duplicate stays a duplicate, too: the text that it was compared with is still its text.

    Content that is under way goes on: it is searchable once it is indexed, whatever answer a later fetch got.
    """
    outcome = step.data.get("outcome", "")
    after = before._replace(fetch_stage=None, failure=None)
    if step.data.get("removed_on_request") and before.decided:
        return after
    without_request = [name for name, field in _WITHOUT_REQUEST if step.data.get(field) not in (None, False)]
    failure = FetchFailure(
        outcome=next(iter(without_request), outcome),
        http_status=step.data.get("status"),
        error=step.data.get("error") or "",
        retryable=bool(step.data.get("retryable")),
    )
    if failure.retryable:
        return after._replace(fetch_stage="frontier", failure=failure)
    if outcome == "not_modified" or (before.decided and before.decided.status in ("indexed", "duplicate")):
        return after
    decided = PageStatus(status="not_indexed", reason="fetch_failed", failure=failure)
    if outcome == "redirect":
        decided = PageStatus(status="redirected", reason="redirect", redirect_to=step.data.get("redirect_to"))
    return after._replace(decided=decided, decided_by=step.topic, decided_generation=generation)


def _parse_uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None
