"""`riffle help`: the help of the program, or of a command."""

from typing import Annotated, Any

import typer


def show_help(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="COMMAND...", help="The command.")] = None,
) -> None:
    """Show the help of a command, or the list of all commands.

    Examples:

        riffle help
        riffle help dead-letters replay
    """
    from streams.cli import COMMANDS, suggest

    context: Any = ctx.parent
    for name in names or ():
        below = context.command
        known = list(COMMANDS) if context is ctx.parent else list(getattr(below, "commands", {}))
        if name not in known:
            ctx.fail(f"No such command {name!r}.{suggest(name, known)}")
        context = type(ctx)(below.get_command(context, name), info_name=name, parent=context)
    typer.echo(context.get_help())
