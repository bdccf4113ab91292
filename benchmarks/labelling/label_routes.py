"""`/labs/label`: people label statements, one at a time, by keyboard and without scripts.

Labels are written, so a form of another site must not reach them: a request that a browser marks as coming from
another site is refused.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from benchmarks.labelling.labelling import export_rows, next_task, select_valid
from benchmarks.labelling.labels import LABELLER, Label, LabelsFull, LabelStore
from streams.gateway.context import GatewayContext
from streams.gateway.http.problems import Problem, ProblemError, invalid_parameter
from streams.gateway.http.requests import read_form, refuse_other_sites
from streams.gateway.http.templates import Views, address
from streams.gateway.labs.routes import LabsCapacity
from streams.gateway.labs.statements_view import page_statements
from streams.gateway.page.lookup import PageData, look_up
from streams.statements.statement import PageStatements
from streams.stores.protocols import Visible

MAX_SKIPPED = 200
"""Maximum statements that a labeller passes over before the first of them is shown again."""
_NO_STORE = {"Cache-Control": "no-store"}


def label_routes(
    context: GatewayContext,
    views: Views,
    capacity: LabsCapacity,
    visible_to: Callable[[], Awaitable[Visible]],
    folder: Path,
) -> APIRouter:
    router, labels = APIRouter(include_in_schema=False), LabelStore(folder)

    @router.api_route("/labs/label", methods=["GET", "HEAD"])
    async def label(
        request: Request, url: str = "", labeller: str = "", skipped: str = "", statement: int = -1
    ) -> Response:
        passed = parse_ordinals(skipped)
        if not url or not LABELLER.fullmatch(labeller):
            return HTMLResponse(views.render("labs_label_start.html", request, subject=url, labeller=labeller))
        async with capacity.slot():
            data = await look_up(context, url, await visible_to())
            page = await page_statements(context, data)
            made = next_task(page, await labels.of_page(data.page_id), labeller, frozenset(passed), statement)
            content = await asyncio.to_thread(
                views.render,
                "labs_label.html",
                request,
                page=page,
                task=made,
                labeller=labeller,
                skipped=skipped,
                passed=bool(passed),
            )
        return HTMLResponse(content, headers=_NO_STORE)

    @router.post("/labs/label")
    async def answer(request: Request) -> Response:
        refuse_other_sites(request)
        form = await read_form(request)
        data = await look_up(context, form.get("url", ""), await visible_to())
        page = await page_statements(context, data)
        skipped = await _carry_out(labels, data, page, form)
        return RedirectResponse(
            address("/labs/label", url=data.url or data.page_id, labeller=form["labeller"], skipped=skipped), 303
        )

    @router.api_route("/labs/label/export", methods=["GET", "HEAD"])
    async def export(url: str = "") -> Response:
        data = await look_up(context, url, await visible_to())
        async with capacity.slot():
            page = await page_statements(context, data)
            rows = list(export_rows(page, await labels.of_page(data.page_id)))
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        headers = {**_NO_STORE, "Content-Disposition": f'attachment; filename="labels-{data.page_id}.jsonl"'}
        return Response(lines.encode("utf-8", "replace"), media_type="application/jsonl", headers=headers)

    return router


async def _carry_out(labels: LabelStore, data: PageData, page: PageStatements, form: Mapping[str, str]) -> str:
    """Write the label of a form, undo the last label, or pass over a statement. Return the ordinals passed over."""
    labeller, skipped = form.get("labeller", ""), parse_ordinals(form.get("skipped", ""))
    if not LABELLER.fullmatch(labeller):
        raise ProblemError(invalid_parameter("labeller", "A name has up to 40 letters, digits, dots and dashes."))
    by_id = {str(statement.id): statement for statement in page.statements}
    if form.get("do") == "undo":
        shown = select_valid(by_id, await labels.of_page(data.page_id))
        mine = [each for each in shown if each.labeller == labeller]
        if mine:
            await _add(labels, data, Label(labeller, mine[-1].statement, undone=True))
        return join_ordinals(skipped)
    statement, antecedent = by_id.get(form.get("statement", "")), by_id.get(form.get("antecedent", ""))
    if statement is None:
        raise ProblemError(invalid_parameter("statement", "The page has no such statement now: it was fetched again."))
    if form.get("do") == "skip":
        return join_ordinals([*skipped, statement.ordinal])
    if form.get("antecedent") and (antecedent is None or antecedent.ordinal >= statement.ordinal):
        raise ProblemError(invalid_parameter("antecedent", "An antecedent is an earlier statement of the same page."))
    chosen = "" if antecedent is None else str(antecedent.id)
    await _add(labels, data, Label(labeller, str(statement.id), chosen, form.get("leaf") == "yes"))
    return join_ordinals(skipped)


async def _add(labels: LabelStore, data: PageData, label: Label) -> None:
    """Append a label, or an undo. Raises ProblemError if the page's file is full."""
    try:
        await labels.add(data.page_id, label)
    except LabelsFull as full:
        raise labels_full("This page", full) from full


def labels_full(what: str, full: LabelsFull) -> ProblemError:
    return ProblemError(Problem("unavailable", f"{full}.", title=f"{what} takes no more labels", status=507))


def parse_ordinals(text: str) -> list[int]:
    return [int(part) for part in text.split(".")[-MAX_SKIPPED:] if part.isascii() and part.isdigit() and len(part) < 6]


def join_ordinals(ordinals: list[int]) -> str:
    return ".".join(map(str, ordinals[-MAX_SKIPPED:]))
