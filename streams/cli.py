"""The command line: a table of the commands, each with its module in `streams/commands` and its line of help.

A command's module is imported when the command is called, so that `riffle --help` doesn't load Kafka's and Cassandra's
clients.
"""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import version
from itertools import chain
from typing import Annotated, Any, ClassVar

import typer
from typer._completion_classes import completion_init
from typer.core import TyperGroup

from streams.resources import expect_imports

Sections = Mapping[str, Mapping[str, tuple[str, str]]]
"""The commands of each section of the help: name, place ("module:function"), line of help."""

SECTIONS: Sections = {
    "Local stack": {
        "up": ("streams.commands.stack.up:up", "Start the servers, the workers and the gateway on this machine."),
        "down": ("streams.commands.stack.up:down", "Stop the local stack."),
        "status": ("streams.commands.stack.status:status", "What runs, what waits, what is wrong, and what to do."),
        "demo": ("streams.commands.stack.demo:demo", "Crawl a bundled web of real pages and open a search page."),
        "certificates": (
            "streams.commands.stack.certificates:certificates",
            "List the certificates of the local stack.",
        ),
        "web": ("streams.commands.stack.web:web_serve", "Serve a folder of pages as a small web over HTTPS."),
    },
    "Pages": {
        "crawl": ("streams.commands.pages.crawl:crawl", "Crawl from seeds and make the pages searchable."),
        "import": (
            "streams.commands.pages.import_source:import_source",
            "Bring in pages fetched elsewhere (WARC, HTML, an index), and entities (Wikidata, Wikipedia, own).",
        ),
        "export": ("streams.commands.pages.exporting:export_pages", "Write pages as WARC, or an index for others."),
        "watch": ("streams.commands.pages.watch:watch", "Follow a folder: its pages are searchable as it changes."),
        "search": ("streams.commands.pages.search:search", "Ask a question."),
        "page": ("streams.commands.pages.page:page", "Show the history of a page, or its document."),
        "remove": (
            "streams.commands.pages.remove:remove",
            "Remove pages on request, and erase what is stored of them.",
        ),
    },
    "Operation": {
        "migrate": ("streams.commands.operate.migrate:migrate", "Create the topics, tables and collection."),
        "worker": ("streams.commands.operate.processes:worker", "Run one or several stages."),
        "gateway": ("streams.commands.operate.processes:gateway", "Run the gateway: search page and API."),
        "admin": (
            "streams.commands.operate.processes:admin",
            "Run the pages of operators: hosts, jobs, actions.",
        ),
        "models": ("streams.commands.operate.models:models_app", "Prepare the model repository of a Triton server."),
        "dead-letters": (
            "streams.commands.operate.dead_letters:dead_letters_app",
            "Events that failed for good: list, show, replay.",
        ),
        "backup": ("streams.commands.operate.backup:backup", "Copy all stores of a small installation into a folder."),
        "restore": ("streams.commands.operate.backup:restore", "Bring an installation to the state of a backup."),
        "doctor": ("streams.commands.operate.doctor:doctor", "Check an installation, and what to do."),
        "round-trip": (
            "streams.commands.operate.doctor:round_trip_command",
            "Send a page through the whole journey, search it, and remove it.",
        ),
        "replay": ("streams.commands.operate.replay:replay", "Let a stage handle past events again."),
        "reindex": ("streams.commands.operate.reindex:reindex", "Fill a model's collection, and search it."),
        "queries": (
            "streams.commands.operate.queries:queries_app",
            "Counts of queries: list, learn from clicks, delete.",
        ),
        "mcp": ("streams.commands.operate.processes:mcp", "Serve tools for a language model over stdio (MCP)."),
        "keys": ("streams.commands.operate.access:keys_app", "Keys of the API: make, list, revoke."),
        "sites": (
            "streams.commands.operate.access:sites_app",
            "Sites with a search of their own: make, list, remove.",
        ),
        "suggest": (
            "streams.commands.operate.suggest:suggest_app",
            "Suggestions while people type: build them.",
        ),
        "frontier": (
            "streams.commands.operate.frontier:frontier_app",
            "Hosts that are crawled: show, block, slow down.",
        ),
        "map": ("streams.commands.measure.index_map:make_map", "Draw a map of a sample of the index."),
        "links": ("streams.commands.operate.links:links_app", "Authority of hosts: compute it, show it."),
        "blobs": ("streams.commands.operate.blobs:blobs_app", "Delete the blobs that nothing refers to."),
    },
    "This program": {
        "completion": ("streams.commands.completion:completion", "Completions for bash, zsh and fish."),
    },
    "Measuring": {
        "plan": ("streams.commands.measure.plan:make_plan", "Compute the machines and cost of an installation."),
        "eval": ("streams.commands.measure.answers:eval_app", "Quality of a gateway, by questions of your own."),
    },
}


def commands_of(sections: Sections) -> dict[str, str]:
    """Return the place of each command."""
    return {name: place for names in sections.values() for name, (place, _) in names.items()}


COMMANDS = commands_of(SECTIONS)


@dataclass(frozen=True, slots=True)
class Offered:
    """A command that is offered to a shell. It has the fields of Click's own class, which Typer keeps to itself."""

    value: str
    help: str
    type: str = "plain"


class LazyGroup(TyperGroup):
    """A group of commands that are imported on use.

    Contexts and formatters are Any: Typer carries its own Click and exports no names for its types.
    """

    sections: ClassVar[Sections] = SECTIONS
    list_command: ClassVar[str] = "riffle --help"

    def list_commands(self, ctx: Any) -> list[str]:
        return list(commands_of(self.sections))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = commands_of(self.sections)
        return load_command(cmd_name, known) if cmd_name in known else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. A name that is none ends with the names that are like it."""
        known = commands_of(self.sections)
        if args and args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}.{suggest(args[0], known, self.list_command)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Offer the commands without importing any: a shell asks at each press of the tab key."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        lines = chain.from_iterable(names.items() for names in self.sections.values())
        return [Offered(name, line) for name, (_, line) in lines if name.startswith(incomplete)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        # In sections, readable without colour, and without importing any command.
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for section, names in self.sections.items():
            with formatter.section(section):
                formatter.write_dl([(name, summary) for name, (_, summary) in names.items()])
        with formatter.section("Options"):
            formatter.write_dl([record for p in self.get_params(ctx) if (record := p.get_help_record(ctx))])


def suggest(name: str, names: Iterable[str], list_command: str = LazyGroup.list_command) -> str:
    """Return the names that are like a misspelt one, as a sentence with a space before it, or an empty text."""
    found = get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(f'`{each}`' for each in found)}?" if found else f" `{list_command}` lists them."


def load_command(name: str, commands: Mapping[str, str] = COMMANDS) -> Any:
    """Import the command with this name. Raises KeyError if there is none."""
    module, target = commands[name].split(":")
    return as_command(name, getattr(importlib.import_module(module), target))


def as_command(name: str, target: Any) -> Any:
    """Return the Click command of a Typer app or of a plain function."""
    if isinstance(target, typer.Typer):
        made = typer.main.get_command(target)
    else:
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command(name)(target)
        made = typer.main.get_command(app)
    made.name = name
    _keep_examples(made)
    return made


def _keep_examples(made: Any) -> None:
    """Keep the line breaks of examples: Click rewraps each paragraph that doesn't begin with a backspace."""
    paragraphs = (made.help or "").split("\n\n")
    made.help = "\n\n".join(f"\b\n{text}" if text.startswith("    ") else text for text in paragraphs)
    for below in getattr(made, "commands", {}).values():
        _keep_examples(below)


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the installed version, and end."""
    if wanted:
        typer.echo(f"riffle {version('riffle-search')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Riffle: a web search engine in which every page transition is an event.

    Begin with `riffle demo`, or `riffle up` and `riffle crawl https://example.org/ --depth 2`.
    Settings are environment variables: see docs/reference/settings.md.
    """


def main() -> None:
    expect_imports()
    completion_init()  # for a shell that asks for completions
    app(prog_name="riffle")


if __name__ == "__main__":
    main()
