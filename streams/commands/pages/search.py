"""`riffle search`: a question to the gateway, from a terminal."""

from textwrap import indent
from typing import Annotated, Any

import httpx2
import typer

from streams.client.plain_http import plain_client
from streams.commands.console import EXIT_NO, AsJson, command, err, load_settings, out, print_json, styled
from streams.credentials import client_context
from streams.errors import StoreUnavailable, UsageError
from streams.settings import Settings

CLIENT_TIMEOUT_SECONDS = 30.0
INDENT = 3
"""Column of what is said about a result."""
SIMILAR_SHOWN = 3
"""Maximum similar pages shown of a result."""


@command
def search(
    words: Annotated[list[str], typer.Argument(metavar="QUESTION", help="What you want to know, in your own words.")],
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many pages.")] = 5,
    host: Annotated[str | None, typer.Option(help="Only pages of this host.")] = None,
    language: Annotated[str | None, typer.Option(help="Only pages in this language (en, de, ...); * for all.")] = None,
    as_json: AsJson = False,
) -> int:
    """Ask a question, and see the statements that answer it.

    Example:  riffle search "could a crash lose my data?"
    """
    answer = ask(load_settings(), " ".join(words), limit=limit, host=host, language=language)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)
    return 0 if answer["results"] else EXIT_NO


def ask(
    settings: Settings, question: str, *, limit: int = 5, address: str = "", **filters: str | None
) -> dict[str, Any]:
    """Return the answer of the gateway, or of a gateway at `address`. Raises StoreUnavailable, UsageError."""
    given = {name: value for name, value in filters.items() if value}
    return ask_api(settings, "/api/v1/search", {"q": question, "per_page": limit, **given}, address)


def ask_api(settings: Settings, path: str, parameters: dict[str, Any], address: str = "") -> dict[str, Any]:
    """Return the answer of a path of the gateway's API. Raises StoreUnavailable, UsageError."""
    if not address and settings.profile == "local" and not settings.model_fields_set - {"home"}:
        raise StoreUnavailable(
            f"no stack runs in {settings.home.resolve()}, and no gateway is named. Start one with `riffle up`, go to "
            "the folder of one that runs, or name a gateway: RIFFLE_GATEWAY__PORT"
        )
    address = address.rstrip("/") or settings.gateway.address
    try:
        verify = address.startswith("https:") and client_context(settings.gateway_client)
        with plain_client(timeout=CLIENT_TIMEOUT_SECONDS, trust_env=False, verify=verify) as client:
            response = client.get(f"{address}{path}", params=parameters)
    except httpx2.InvalidURL as error:
        raise UsageError(
            f"{address!r} is not the address of a gateway ({error}). Give one like http://127.0.0.1:8080"
        ) from error
    except httpx2.HTTPError as error:
        raise StoreUnavailable(
            f"the gateway at {address} doesn't answer ({error}). Start it with `riffle up` or `riffle gateway`"
        ) from error
    return _answer_of(response)


def _answer_of(response: httpx2.Response) -> dict[str, Any]:
    try:
        answer = response.json()
        detail = " ".join(filter(None, (str(answer.get(name, "")) for name in ("detail", "hint"))))
    except (ValueError, AttributeError):
        raise StoreUnavailable(
            f"the server at {response.url.netloc.decode()} is no gateway of Riffle. Check RIFFLE_GATEWAY__PORT"
        ) from None
    if response.is_client_error:
        raise UsageError(detail)
    if response.is_error:
        raise StoreUnavailable(detail)
    checked: dict[str, Any] = answer
    return checked


def print_answer(answer: dict[str, Any]) -> None:
    """Print an answer for people: what was searched, answers that stand by themselves, then the pages.

    Of an answer by itself that no page has the words of, nothing is left to say: pages would only be the nearest ones.
    """
    if answer.get("quick") and answer.get("nearest_only"):
        answer = {**answer, "results": [], "missing": []}
    _print_searched(answer)
    if quick := answer.get("quick"):
        out.print(styled("[bold]{}[/]\n", f"{quick['asked']} = {quick['answer']}"))
    for quoted in ((answer.get("beside") or {}).get("answer") or {}).get("answers", ()):
        out.print(styled("[bold]{}[/]", quoted["text"]))
        out.print_indented(styled("[dim]{}[/]\n", " › ".join((quoted["url"], *quoted["context"]))), INDENT)
    is_near = answer.get("nearest_only", False)
    for number, result in enumerate(answer["results"], start=1):
        if result.get("nearest") and not is_near:
            is_near = True
            out.print("Nearest by meaning:\n")
        out.print(styled("[bold]{}. {}[/]", number, result["title"] or result["url"]))
        out.print_indented(styled("[dim]{}[/]", result["url"]), INDENT)
        above: list[str] = []
        for statement in result["statements"]:
            if above != (above := statement["context"]) and above:
                out.print_indented(styled("[dim]{}[/]", " › ".join(above)), INDENT)
            if statement.get("kind") == "code":
                out.print(indent(statement["text"], " " * (2 * INDENT)), soft_wrap=True)
            else:
                out.print_indented(statement["text"], INDENT)
        if versions := result.get("versions"):
            out.print_indented(styled("[dim]Also in {}[/]", ", ".join(one["language"] for one in versions)), INDENT)
        if lacks := [word for word in result.get("lacks", ()) if word not in answer.get("missing", ())]:
            out.print_indented(styled("[dim]Missing: {}[/]", ", ".join(lacks)), INDENT)
        if similar := result.get("similar"):
            out.print_indented(styled("[dim]{}[/]", _similar(similar)), INDENT)
        out.print()
    if not answer["results"] and not (answer.get("quick") or answer.get("beside")):
        out.print("Nothing was found.")
    if answer.get("partial"):
        reasons = " ".join(reason["detail"] for reason in answer["reasons"])
        err.print(styled("[yellow]This answer is partial:[/] {}", reasons))


def _print_searched(answer: dict[str, Any]) -> None:
    """Print how the searched query differs from the typed one, and what no page has."""
    match answer.get("spelling"):
        case {"kind": "instead", "original": typed, "corrected": corrected}:
            out.print(styled("Showing results for [bold]{}[/] instead of {}.\n", corrected, typed))
        case {"kind": "suggestion", "corrected": corrected}:
            out.print(styled("Did you mean [bold]{}[/]?\n", corrected))
    if names := answer.get("missing"):
        out.print(styled("No page has {}.", " or ".join(names)))
    if answer.get("nearest_only") and answer["results"] and not (answer.get("quick") or answer.get("beside")):
        out.print("Nothing was found. Nearest by meaning:\n")


def _similar(similar: dict[str, Any]) -> str:
    """Return the number of similar pages, and the first of them."""
    shown = ", ".join(page["url"] for page in similar["pages"][:SIMILAR_SHOWN])
    count = f"{similar['count']}{' or more' if similar['more'] else ''}"
    etc = ", ..." if len(similar["pages"]) > SIMILAR_SHOWN else ""
    return f"{count} similar {'page' if count == '1' else 'pages'}: {shown}{etc}"
