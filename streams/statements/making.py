"""The statements of a page from its drafts: the one way for the stage and for `riffle reindex --recompute`."""

from uuid import UUID

from streams.models.protocols import ChainModel
from streams.sandbox.limits import Limits
from streams.sandbox.pool import SandboxPool
from streams.statements.chaining import chain_input, make_statements
from streams.statements.codec import PageStatements
from streams.statements.sandbox_tasks import CPU_SECONDS, DRAFT, MEMORY_BYTES, Drafted

PROCESSES = 1
"""Number of drafting processes of one worker or command."""


def drafting_pool(name: str) -> SandboxPool:
    """Return a pool of drafting processes for the worker or command with this name. The pool is not started."""
    limits = Limits(cpu_seconds=CPU_SECONDS, memory_bytes=MEMORY_BYTES)
    return SandboxPool((DRAFT,), processes=PROCESSES, limits=limits, name=name)


async def chain_drafts(chains: ChainModel, page_id: UUID, url: str, found: Drafted) -> PageStatements:
    """Return the statements of a page, with the links that the chain model finds between the drafts."""
    sentences, owners = chain_input(found.drafts)
    links = await chains.links(sentences)
    statements = make_statements(page_id, found.drafts, owners, links)
    return PageStatements(page_id, url, found.title, found.language, statements)
