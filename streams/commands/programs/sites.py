"""`riffle sites`: groups of hosts with a search of their own."""

import re
from typing import Annotated

import typer

from streams.clock import now_micros
from streams.commands.console import (
    AsJson,
    command,
    command_group,
    load_settings,
    out,
    print_json,
    print_result,
    table,
)
from streams.errors import UsageError
from streams.search.query_language.operator_values import ascii_host
from streams.search.request import MAX_DOMAINS
from streams.stores.opener import open_stores
from streams.stores.protocols import Site

sites_app = command_group("Sites with a search of their own: make, list, remove.")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@sites_app.command("add")
@command
async def add(
    name: Annotated[str, typer.Argument(help="Its name in addresses: /sites/NAME.")],
    host: Annotated[list[str], typer.Option(help="A domain, with its subdomains. Give it once for each.")],
    title: Annotated[str, typer.Option(help="Its name for people. Default: NAME.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Only keys of the site find its pages.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a site, or replace it. Its search is at /sites/NAME, with a box for other pages.

    Example:  riffle sites add docs --host docs.example.org --title "Our handbook"
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} can't be a name: up to 40 of a-z, 0-9 and -")
    hosts = tuple(dict.fromkeys(ascii_host(each.strip().removeprefix("*.")) for each in host))
    if "" in hosts or len(hosts) > MAX_DOMAINS:
        raise UsageError(f"give 1 to {MAX_DOMAINS} names of hosts, such as docs.example.org")
    settings = load_settings()
    if private and not settings.access.private_sites:
        raise UsageError("private sites need RIFFLE_ACCESS__PRIVATE_SITES=true, for this command and for the gateways")
    async with open_stores(settings, ["records"]) as stores:
        await stores.api_keys.put_site(Site(name, title or name, hosts, private), now_micros())
    print_result(
        f"The site {name} has {len(hosts)} {'host' if len(hosts) == 1 else 'hosts'}. Its search is at /sites/{name}.",
        {"name": name, "title": title or name, "hosts": list(hosts), "private": private},
        as_json,
    )


@sites_app.command("list")
@command
async def list_sites(as_json: AsJson = False) -> None:
    """List the sites.

    Example:  riffle sites list
    """
    async with open_stores(load_settings(), ["records"]) as stores:
        sites = await stores.api_keys.sites()
    if as_json:
        print_json([
            {"name": each.name, "title": each.title, "hosts": list(each.hosts), "private": each.is_private}
            for each in sites
        ])  # fmt: skip
        return
    if not sites:
        out.advise("There are no sites. Make one with `riffle sites add NAME --host HOST`.")
        return
    shown = table("name", "title", "hosts", "private", whole=["name"])
    for each in sites:
        shown.add_row(each.name, each.title, " ".join(each.hosts), "yes" if each.is_private else "")
    out.print(shown)


@sites_app.command("remove")
@command
async def remove(
    name: Annotated[str, typer.Argument(help="Name of the site.")],
    as_json: AsJson = False,
) -> None:
    """Remove a site. Its pages stay in the index, and its keys are refused.

    Example:  riffle sites remove docs
    """
    async with open_stores(load_settings(), ["records"]) as stores:
        await stores.api_keys.remove_site(name, now_micros())
    print_result(f"The site {name} is removed.", {"name": name}, as_json)
