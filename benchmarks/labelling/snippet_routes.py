"""`/labs/snippets`: a person says of one shown snippet after the other whether it reads alone, without scripts.

The snippets are those that `python -m benchmarks eval snippets --label` wrote into the folder of labels.
"""

from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from benchmarks.labelling.label_routes import join_ordinals, labels_full, parse_ordinals
from benchmarks.labelling.labels import LabelsFull, SnippetStore
from benchmarks.labelling.snippets import judged, last_labelled, next_snippet
from streams.gateway.http.problems import ProblemError, invalid_parameter
from streams.gateway.http.requests import read_form, refuse_other_sites
from streams.gateway.http.templates import Views, address
from streams.gateway.labs.routes import LabsCapacity

_ANSWERS = {"alone": True, "not-alone": False}


def snippet_routes(views: Views, capacity: LabsCapacity, folder: Path) -> APIRouter:
    router, snippets = APIRouter(include_in_schema=False), SnippetStore(folder)

    @router.api_route("/labs/snippets", methods=["GET", "HEAD"])
    async def show(request: Request, skipped: str = "") -> Response:
        passed = parse_ordinals(skipped)
        async with capacity.slot():
            task = next_snippet(await snippets.read(), frozenset(passed))
        content = views.render(
            "labs_snippets.html", request, task=task, skipped=join_ordinals(passed), file=str(snippets.path)
        )
        return HTMLResponse(content, headers={"Cache-Control": "no-store"})

    @router.post("/labs/snippets")
    async def answer(request: Request) -> Response:
        refuse_other_sites(request)
        form = await read_form(request)
        async with capacity.slot():
            skipped = await _carry_out(snippets, form)
        return RedirectResponse(address("/labs/snippets", skipped=skipped), 303)

    return router


async def _carry_out(snippets: SnippetStore, form: Mapping[str, str]) -> str:
    """Write the label of a form, take the last one back, or pass over a snippet. Return the places passed over."""
    do, skipped = form.get("do", ""), parse_ordinals(form.get("skipped", ""))
    if do == "skip":
        return join_ordinals([*skipped, *parse_ordinals(form.get("place", ""))])
    read = await snippets.read()
    last = last_labelled(read)
    if do == "undo":
        name, alone = last.name if last else "", None
    elif do in _ANSWERS:
        name, alone = form.get("snippet", ""), _ANSWERS[do]
    else:
        raise ProblemError(invalid_parameter("do", "A form does one of alone, not-alone, skip and undo."))
    labelled = judged(read, name, alone)
    if labelled is None:
        raise ProblemError(invalid_parameter("snippet", "The file has no such snippet."))
    try:
        await snippets.add(labelled)
    except LabelsFull as full:
        raise labels_full("The file of snippets", full) from full
    return join_ordinals(skipped)
