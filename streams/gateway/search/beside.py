"""The sources beside the results, in the order in which a page shows them."""

from streams.gateway.context import GatewayContext
from streams.search.sources import Source


def sources_of(_context: GatewayContext) -> tuple[Source, ...]:
    """Return the sources of one gateway process. The context has the stores and the settings that they need."""
    return ()
