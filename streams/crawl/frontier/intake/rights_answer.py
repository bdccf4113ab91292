"""Intake of the answer to a host's /.well-known/tdmrep.json."""

from collections.abc import Sequence

from schemas import Event, PageFetched
from streams.crawl.frontier.host_state import RightsFile
from streams.crawl.frontier.intake.fetched import end_lease, take_unrequested
from streams.crawl.frontier.state import FrontierState


async def take_rights_answer(frontier: FrontierState, event: PageFetched, partition: int) -> Sequence[Event]:
    """Apply the answer to the host. Without a file, or while it can't be read, the former one holds for a day more."""
    if event.lease_expired or event.postponed_seconds is not None:
        await take_unrequested(frontier, event, partition)
        return []
    async with frontier.hosts.lock(event.host, partition) as live:
        if event.lease_id in live.host.leases:
            kept = live.host.rights.ref if event.retryable else None
            live.host.rights = RightsFile(event.body_ref if event.outcome == "ok" else kept, event.generation)
            end_lease(frontier, live, event)
            await frontier.hosts.persist(live)
    return []
