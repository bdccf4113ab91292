"""Intake of a settled page: the later stages are done with its content."""

from dataclasses import replace

from schemas import PageSettled
from streams.crawl.frontier import decisions
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.state import FrontierState


async def take_settled(frontier: FrontierState, event: PageSettled, partition: int) -> None:
    """Note that the page is settled, and test the host's alias rules with dedup's new evidence.

    Both happen under the host's lock, so that no URL is held by outdated rules meanwhile. The event may come before the
    answer itself, since both are on their way at once.
    """
    async with frontier.hosts.lock(event.host, partition) as live:
        await _write(frontier, event, live)
        rules = await frontier.aliases.rules_for(event.host, fresh=True)
        if rules.believed:
            await frontier.held.release_probes(event.host, event.page_id, rules.is_probe)


async def _write(frontier: FrontierState, event: PageSettled, live: LiveHost) -> None:
    url = await frontier.hosts.url(live, event.page_id) or decisions.url_of_settled(event)
    live.is_changed = True
    if event.purpose == "page" and not url.settled_generation:
        if url.stranger:  # anybody can lead to copies of a page: they say nothing about the site
            live.host.count_settled_of_stranger()
        else:
            live.host.count_settled(is_unique=event.verdict in ("changed", "unchanged"), quality=event.quality)
    if url.settled_generation < event.generation:
        at = decisions.next_version(url, frontier.now())
        url = replace(url, at=at, settled_generation=event.generation, verdict=event.verdict)
        if event.verdict in ("refused", "soft_404"):  # refused: such as a page that asks not to be indexed
            url = decisions.without_validators(url)
    if url.settled_generation == event.generation:
        url = frontier.plan_visit(url, live.host)
        await (frontier.urls.write([url], live) if url.next_visit else frontier.urls.write_settled(url, live))
