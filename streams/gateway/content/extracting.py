"""The content of a page for a program: of the index, or fetched now where the operator allows it."""

from functools import partial

from schemas.ids import page_id
from streams.gateway.access.bucket import FETCH
from streams.gateway.access.guard import Charge
from streams.gateway.content.answers import Extract, to_document, to_statement
from streams.gateway.content.reading import PageContent
from streams.gateway.content.web_page import WebPages, not_indexed
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError
from streams.gateway.page.lookup import PageData, refuse_directives, resolve
from streams.seen.stores import shows

MAX_STATEMENTS = 200
"""Maximum statements of an answer."""


class Extracting:
    """The extraction of one gateway process."""

    def __init__(self, context: GatewayContext, content: PageContent, web: WebPages) -> None:
        self._content, self._web = content, web
        self._who = context.settings.access.fetch_now

    async def extract(self, url: str, charge: Charge, *, fetch: bool) -> Extract:
        """Return the content of a page. `fetch`: fetch it if the index does not have it. Raises ProblemError."""
        try:
            data = await self._content.find(url, charge.visible)
            if data.record.normalized.document_ref:
                return await self._of_index(data)
        except ProblemError as error:
            if error.problem.kind not in ("unknown-page", "no-content") or not fetch:
                raise
        else:
            if not fetch:
                raise ProblemError(not_indexed(url))
        if not self.may_fetch(charge):
            raise ProblemError(_fetch_not_allowed())
        _, address = resolve(url)
        if not address or not shows(charge.visible, address):
            raise ProblemError(not_indexed(url))
        charge.spend(FETCH)
        return await self._of_web(address, charge)

    def may_fetch(self, charge: Charge) -> bool:
        """Return whether this client may have a page fetched now."""
        if self._who == "everybody":
            return charge.allows("extract")
        return self._who == "keys" and charge.client.key is not None and charge.allows("extract")

    async def _of_index(self, data: PageData) -> Extract:
        document = await self._content.read_document(data, data.record.normalized.document_ref)
        ref = data.record.indexed.statements_ref
        statements = (await self._content.read_statements(data, ref)).statements if ref else ()
        return Extract(
            source="index",
            url=data.url,
            page_id=data.page_id,
            document=to_document(document),
            statements=tuple(to_statement(each) for each in statements[:MAX_STATEMENTS]),
            statement_count=len(statements),
            directives=tuple(data.record.normalized.directives),
        )

    async def _of_web(self, address: str, charge: Charge) -> Extract:
        found = await self._web.fetch(address, charge.client.id, partial(shows, charge.visible))
        refuse_directives(found.directives)
        return Extract(
            source="web",
            url=found.url,
            page_id=page_id(found.url),
            document=to_document(found.document),
            statements=tuple(to_statement(each) for each in found.statements[:MAX_STATEMENTS]),
            statement_count=len(found.statements),
            directives=found.directives,
        )


def _fetch_not_allowed() -> Problem:
    return Problem(
        "fetch-not-allowed",
        "The page is not in the index.",
        "Use a key with the scope `extract`, if the operator allows it (RIFFLE_ACCESS__FETCH_NOW).",
        "fetch",
    )
