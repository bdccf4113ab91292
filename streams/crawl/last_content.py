"""The content that a page keeps after an answer without its content: a temporary redirect, or a sign-in page. Pure."""

from collections.abc import Mapping

from schemas import PageFetched
from schemas.crawl import LastContent
from schemas.envelope import micros_from_utc
from streams.crawl.web_dates import parse_date
from streams.stores.page_record import Fetched, PageRecord
from streams.stores.removals import was_erased

TEMPORARY = frozenset({200, 203, 302, 303, 307})
"""Redirects after which a page keeps its address (RFC 9110, sections 15.4.3, 15.4.4, 15.4.8), such as to a sign-in. A
`Refresh` header comes with 200 or 203, and says nothing of the address either."""
MAX_AWAY_SECONDS = 10 * 86_400
"""Time after the last content of a page from which a repeated answer without it counts as new content (seconds).

A page whose visits all fail has its last visit later than that, so none stays for ever.
"""
_AWAY = frozenset({"redirect", "refused"})
"""Outcomes of visits after which a page kept its content, but answered that it is elsewhere or not for everyone."""
_NAMES = ("outcome", "body_ref", "body_bytes", "exchange_ref", "not_found_ref", "headers")
_REFS = ("body_ref", "body_bytes", "exchange_ref", "not_found_ref")
_VALIDATORS = frozenset({"etag", "last-modified"})
"""Headers that say which content a conditional request is about. They stay with the stored content.

A 304 may have others: nginx weakens the ETag only of a compressed answer, and some servers date each answer anew.
RFC 9111, section 4.3.4, has a cache renew them. But the frontier keeps those that came with the content, and a request
is conditional only if both agree.
"""


def last_content_of(known: PageRecord) -> LastContent | None:
    """Return the content that the page has before a new answer. None: it has none, or that was erased."""
    former = known.fetched
    if not former.body_ref or was_erased(known, former.generation):
        return None
    return LastContent.model_validate({name: getattr(former, name) for name in _NAMES})


def is_away(fetched: PageFetched, known: PageRecord) -> bool:
    """Return whether a page with known content answered with a temporary redirect: its content stays for now."""
    former = last_content_of(known)
    if fetched.outcome != "redirect" or fetched.status not in TEMPORARY or former is None:
        return False
    return may_stay(former, known, fetched.generation)


def may_stay(former: LastContent, known: PageRecord, generation: int) -> bool:
    """Return whether the last content stays after an answer without it.

    It leaves if the visit before had none either, and the content is too old by then. A 304 renews its `Date`.
    """
    date = parse_date(former.headers.get("date", ""))
    seen = micros_from_utc(date) if date else 0
    last = max(known.normalized.generation, seen if seen <= generation else 0)
    return former.outcome not in _AWAY or generation - last < MAX_AWAY_SECONDS * 1_000_000


def with_last_content(fetched: PageFetched, former: LastContent | Fetched) -> PageFetched:
    """Return an answer without content, with the references and headers of the last content.

    A 304 renews the headers, except the validators. The headers of an error describe the error: only the time to wait
    is taken from them, for the host's pace. The page for a missing name is the one that the last content was compared
    with.
    """
    if former.body_ref is None:
        return fetched
    answered = fetched.headers if fetched.outcome == "not_modified" else {}
    renewed = {name: value for name, value in answered.items() if name not in _VALIDATORS}
    wait = {name: value for name, value in fetched.headers.items() if name == "retry-after"}
    described: Mapping[str, str] = {name: value for name, value in former.headers.items() if name != "retry-after"}
    kept = {name: getattr(former, name) for name in _REFS}
    return fetched.model_copy(update={**kept, "last_content": None, "headers": {**described, **renewed, **wait}})
