"""Tells people and programs how a crawl ended: the counts first, then what happened to seeds, links and hosts."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.envelope import utc_from_micros
from streams.commands.console import EXIT_NO, EXIT_WAITS, as_typed, err, out, print_json, styled
from streams.commands.pages.left_out import describe_left_out
from streams.commands.watching import Seen
from streams.crawl.frontier.policy import UNREACHABLE_SECONDS
from streams.crawl.frontier.progress import CrawlProgress, describe_results
from streams.plain_text import count_of

MAX_HOSTS = 5
"""Maximum number of hosts that are named."""
_REFUSED = "Refused: a limit, a rule for URLs, or the server says no. `riffle page URL` names the reason."


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """The end of a crawl, or of the command's wait for it."""

    crawl_id: str
    seen: Seen
    progress: CrawlProgress
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why seeds gave no searchable page, by seed."""
    unexplained: int = 0
    """Number of further seeds without a searchable page."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of links that were left out, by reason."""
    is_part: bool = False
    """True if only the links of the first pages were counted."""
    pauses: Mapping[str, int] = field(default_factory=dict)
    """When hosts are asked again, microseconds since 1970 UTC, if the crawl only waits for them."""
    is_stuck: bool = False

    @property
    def status(self) -> int:
        """The exit status of the command."""
        if self.pauses:
            return EXIT_WAITS
        return EXIT_NO if self.is_stuck or not self.seen.brought else 0


def report(end: CrawlEnd, *, as_json: bool) -> int:
    """Print the end of a crawl, and return the exit status."""
    if as_json:
        print_json(_fields(end))
    else:
        _print_counts(end)
        _print_seeds(end)
        _print_waiting(end)
    if end.is_stuck:
        err.print(
            styled(
                "[yellow]No event for {} s[/], and {} pages are not finished. "
                "Look at `riffle status`, `riffle status --topics` and `riffle dead-letters list`.",
                round(time.monotonic() - end.seen.last_event_at),
                end.seen.under_way,
            )
        )
    return end.status


def _fields(end: CrawlEnd) -> dict[str, object]:
    seen, progress = end.seen, end.progress
    return {
        "crawl_id": end.crawl_id,
        "finished": not (end.is_stuck or end.pauses),
        "discovered": progress.discovered,
        "fetched": progress.fetched,
        "failed": progress.failed,
        "gone": progress.gone,
        "deferred": progress.deferred,
        "waiting": progress.pending,
        "forbidden_by_robots": progress.disallowed,
        "refused": progress.refused,
        "redirected": progress.redirected,
        "known_from_another_crawl": progress.seen,
        "named_by_sitemaps": len(seen.listed),
        "fetched_of_sitemaps": len(seen.listed & seen.fetched),
        "searchable": seen.searchable,
        "without_statements": len(seen.empty),
        "searchable_in_part": [page._asdict() for page in seen.cut.values()],
        "unchanged": len(seen.unchanged),
        "sign_in_pages": len(seen.sign_ins),
        "under_way_before": len(seen.unread),
        "set_aside": seen.reasons(),
        "seeds_without_a_page": dict(end.reasons),
        "links_left_out": dict(end.left_out),
        "hosts_asked_again": {host: utc_from_micros(at).isoformat() for host, at in end.pauses.items()},
    }


def _print_counts(end: CrawlEnd) -> None:
    seen, progress = end.seen, end.progress
    waiting = progress.pending + progress.deferred
    results = [describe_results(progress), f"{waiting:,} waiting" if waiting else ""]
    _print(f"{_addresses(progress.discovered)}: {', '.join(filter(None, results)) or 'none is finished'}.")
    removed = ", ".join(f"{count:,} {reason}" for reason, count in seen.reasons().items())
    _print(f"{count_of(seen.searchable, 'page')} searchable{f'; not indexed: {removed}' if removed else ''}.")
    if unchanged := seen.unchanged - seen.empty - seen.removed.keys():
        _print(f"{len(unchanged):,} of the searchable pages have not changed since an earlier crawl.")
    if seen.empty:
        _print(f"{count_of(len(seen.empty), 'page')} without any statement: no search finds them.")
    if sentence := seen.describe_cut():
        _print(sentence)
    if seen.sign_ins:
        _print(
            f"{count_of(len(seen.sign_ins), 'page')} answered with a sign-in page: their last content stays. To read "
            "what is behind it, give a session or a password: RIFFLE_CRAWL__SIGN_INS_FILE"
        )
    if seen.unread:
        _print(f"{len(seen.unread):,} unchanged pages are not searchable yet: their earlier fetch is under way.")
    if seen.listed:
        _print(
            f"Sitemaps name {count_of(len(seen.listed), 'page')}, of which {len(seen.listed & seen.fetched):,} are "
            "fetched. (--max-pages sets how many, --sitemap-only fetches all.)"
        )
    if progress.refused:
        _print(as_typed(_REFUSED))
    if described := describe_left_out(end.left_out):
        _print(f"Links that were left out{' of the first pages' if end.is_part else ''}: {described}.")


def _print_seeds(end: CrawlEnd) -> None:
    if end.reasons:
        _print("Seeds without a searchable page:")
    for url, why in end.reasons.items():
        _print(f"{url}:", 2)
        _print(why, 4)
    if end.unexplained:
        _print(as_typed(f"and {count_of(end.unexplained, 'seed')} more: `riffle page URL` names the reason."), 2)


def _print_waiting(end: CrawlEnd) -> None:
    if end.progress.deferred:
        _print(
            f"{_addresses(end.progress.deferred)} waiting for hosts whose robots.txt can't be read. A host is asked "
            f"again after {UNREACHABLE_SECONDS / 60:.0f} minutes, then after twice as long each time, up to a day."
        )
    if end.pauses:
        named = [f"{host} until {utc_from_micros(at):%Y-%m-%d %H:%M} UTC" for host, at in end.pauses.items()]
        more = f", and {count_of(len(named) - MAX_HOSTS, 'host')} more" if len(named) > MAX_HOSTS else ""
        _print(
            f"{_addresses(end.progress.pending)} waiting for hosts that asked for a pause: "
            f"{', '.join(named[:MAX_HOSTS])}{more}. The workers go on then, without this command."
        )


def _addresses(count: int) -> str:
    return f"{count:,} address{'' if count == 1 else 'es'}"


def _print(text: str, indent: int = 0) -> None:
    out.print_indented(text, indent)
