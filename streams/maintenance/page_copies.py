"""The pages that are given to nobody as a copy: neither to programs nor to people nor in an archive."""

from collections.abc import Iterable, Sequence

from streams.crawl.audiences import EVERYBODY, audience_of
from streams.ledger.status import status_of
from streams.pages.parse.robots_directives import directives, with_robot
from streams.robot_name import ProductToken
from streams.stores.page_record import PageRecord
from streams.stores.protocols import Site, Transition

_NO_COPIES = {"noarchive", "noindex", "nosnippet", "none"}
PRIVATE = "of a private site"
"""Why an export leaves out a page that not everybody may find."""
_LEFT = {"gone", "noindex", "blocked", "refused", "soft_404"}
"""Reasons of the status of a page that left the index."""


def directive_against_copies(found: Iterable[str]) -> str:
    """Return the directive of a page that asks for no copies, or an empty text."""
    return min(_NO_COPIES.intersection(found), default="")


def is_private(url: str, record: PageRecord, sites: Sequence[Site]) -> bool:
    """Return whether a page is private by the sites as they are, or was when it was read last."""
    return audience_of(url, sites) != EVERYBODY or record.normalized.audience != EVERYBODY


def reason_against_archive(
    record: PageRecord, history: Sequence[Transition], *, robot: ProductToken, sites: Sequence[Site], with_private: bool
) -> str:
    """Return why a WARC file leaves a page out: as any export, or as it is private."""
    if not with_private and is_private(record.fetched.url, record, sites):
        return PRIVATE
    return reason_against_export(record, history, robot)


def reason_against_export(record: PageRecord, history: Sequence[Transition], robot: ProductToken) -> str:
    """Return why an archive leaves a page out, in a word, or an empty text.

    A page is left out if it asks for no copies, was removed on request, or left the index. The last headers count, too:
    its answer may be on its way through the stages.
    """
    if record.removed.reason == "request":
        return "request"
    wishes = {*record.normalized.directives, *directives((), with_robot(record.fetched.headers or {}, robot))}
    if directive := directive_against_copies(wishes):
        return directive
    reason = status_of(history).reason
    return reason if reason in _LEFT else ""
