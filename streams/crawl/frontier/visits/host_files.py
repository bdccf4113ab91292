"""The files of a host that come before its pages: robots.txt, reservations of rights, and a page that does not exist.

How a host answers for a page that does not exist shows its soft 404s: they have the status 200.
"""

from schemas.ids import page_id as page_id_of
from streams.allowed_origins import origin_of
from streams.crawl.content_signals import format_signals
from streams.crawl.frontier import decisions, outputs
from streams.crawl.frontier.hosts.host_state import Host, HostFile, Lease
from streams.crawl.frontier.hosts.live_host import LiveHost
from streams.crawl.frontier.hosts.robots_state import Robots
from streams.crawl.frontier.scheduling.purposes import LeasePurpose
from streams.crawl.frontier.state import FrontierState
from streams.errors import MissingBlob


async def has_robots_rules(frontier: FrontierState, live: LiveHost) -> bool:
    """Return whether the blob of the robots.txt exists. If it is missing, the file is fetched again."""
    known = live.host.robots
    try:
        if known.ref:
            await frontier.robots.get(known.ref)
    except MissingBlob:
        live.host.robots = Robots()
        return False
    return True


async def schedule_due_file(frontier: FrontierState, live: LiveHost) -> bool:
    """Schedule a file that is due, other than robots.txt. Return False if there is none, or robots.txt disallows it."""
    host, policy, now = live.host, frontier.policy, frontier.now()
    due = {"rights": host.rights_due(policy, now), "probe": host.probe_due(policy, now)}
    try:
        for purpose, file in host.files.items():
            if due[purpose]:
                if await _is_allowed(frontier, host, purpose):
                    await schedule_host_file(frontier, live, purpose)
                    return True
                file.note(None, now)
    except MissingBlob:
        pass  # robots.txt is fetched again before the next page
    return False


async def _is_allowed(frontier: FrontierState, host: Host, purpose: LeasePurpose) -> bool:
    """Return whether the host's robots.txt allows a file. Raises MissingBlob."""
    ref = host.robots.ref
    return not ref or (await frontier.robots.get(ref)).allowed(host.file_url(purpose, frontier.policy))


async def schedule_host_file(frontier: FrontierState, live: LiveHost, purpose: LeasePurpose) -> None:
    host, policy, now = live.host, frontier.policy, frontier.now()
    # The page id of the host's own robots.txt, even after a redirect: the answer never touches another page's record.
    lease = decisions.host_lease_of(host, purpose, page_id_of(host.file_url(purpose, policy)), policy, now)
    host.leases[lease.lease_id] = lease
    host.next_at = now + host.delay(policy, frontier.random())
    await frontier.hosts.persist(live)
    await emit_host_file(frontier, host, lease)


async def emit_host_file(frontier: FrontierState, host: Host, lease: Lease) -> None:
    """Send the event of a lease for a file of the host."""
    region = frontier.policy.regions.of(host.name)
    await frontier.emit(outputs.host_file_scheduled(host, lease, frontier.policy, region), str(lease.lease_id))


async def content_signal(frontier: FrontierState, known: Robots, url: str) -> str:
    """Return the signals of the host's robots.txt about uses of a page."""
    try:
        signals = (await frontier.robots.get(known.ref)).signals_for(url) if known.ref else {}
    except MissingBlob:
        return ""
    return format_signals(signals)


async def is_reserved(frontier: FrontierState, live: LiveHost, url: str) -> bool:
    """Return whether the host reserves a URL from text and data mining. A missing file is fetched again."""
    if not live.host.rights.ref:
        return False
    try:
        rights = await frontier.rights.get(live.host.rights.ref)
    except MissingBlob:
        live.host.rights = HostFile()
        return False
    return rights.reserves(url.removeprefix(origin_of(url)))
