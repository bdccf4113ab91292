"""`riffle admin`: the pages of operators."""

from typing import Annotated

import typer

from streams.commands.console import command, err, load_settings, need_kafka, styled


@command
async def admin(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Run the pages of operators: stages, dead letters, hosts, jobs, and the log of actions.

    The password is RIFFLE_ADMIN__KEY. Without one, a new password is made and printed. The name is for the audit log.

    Examples:

        riffle admin
        RIFFLE_ADMIN__KEY=... riffle admin --host 0.0.0.0 --port 8090
    """
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = load_settings(admin=given)
    from streams.admin.app import key_of, serve_admin

    key, is_new = key_of(settings)
    need_kafka(settings)
    shown = f"http://{settings.admin.host}:{settings.admin.port}/admin"
    err.print(styled("The pages of operators: [bold]{}[/]", shown), soft_wrap=True)
    if is_new:
        err.print(styled("Sign in with any name and the password [bold]{}[/]", key), soft_wrap=True)
    await serve_admin(settings, key)
