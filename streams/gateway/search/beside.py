"""The sources beside the results, in the order in which a page shows them."""

from streams.answers.statement_source import StatementAnswers
from streams.gateway.context import GatewayContext
from streams.knowledge.lookup.source import PanelSource
from streams.search.core import AnySource


def sources_of(context: GatewayContext) -> tuple[AnySource, ...]:
    """Return the sources of one gateway process. The context has the stores and the settings that they need."""
    return (
        StatementAnswers(context.stores),
        PanelSource(context.stores, context.settings.knowledge),
    )  # fmt: skip
