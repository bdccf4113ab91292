"""Who may use a gateway: keys of the API (`riffle keys`), and sites with a search of their own (`riffle sites`)."""

import re
import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ConfigDict, ValidationError
from rich.table import Table

from streams.clock import now_micros
from streams.commands.console import (
    EXIT_NO,
    AsJson,
    command,
    command_group,
    err,
    load_settings,
    out,
    print_json,
    print_result,
    table,
)  # fmt: skip
from streams.crawl.audiences import change_audiences
from streams.crawl.domains import is_page_below
from streams.errors import UsageError
from streams.gateway.access.bucket import spending_of_day
from streams.gateway.access.clients import ID_BYTES, PREFIX, READING_SCOPES, SCOPES, SECRET_BYTES, expires_at, make_key
from streams.search.own_words import MAX_BYTES, checked
from streams.search.query_language.matching import ascii_host
from streams.search.request import MAX_DOMAINS
from streams.stores.opener import Stores, open_stores
from streams.stores.protocols import ApiKey, Site
from streams.writing.rights import EVERY_HOST

keys_app = command_group("Keys of the API: make, list, revoke.")
MAX_NAME_CHARS = 100
_MICROS = 1_000_000


@keys_app.command("add")
@command
async def add_key(
    name: Annotated[str, typer.Argument(help="What you call the key: a program or a customer.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="search, pages, extract, answer, write, changes. Default: the first four.")
    ] = None,
    expires_days: Annotated[float, typer.Option(min=0, help="Days until the key expires. 0: never.")] = 0,
    per_minute: Annotated[int, typer.Option(min=0, help="Work units a minute. 0: as the settings say.")] = 0,
    per_day: Annotated[int, typer.Option(min=0, help="Work units a day. 0: as the settings say.")] = 0,
    site: Annotated[str, typer.Option(help="Only the pages of this site (`riffle sites`).")] = "",
    host: Annotated[
        list[str] | None,
        typer.Option(help="With write: a domain, or `*`, whose pages it may write. Default: those of --site."),
    ] = None,
    writes_per_day: Annotated[int, typer.Option(min=0, help="With write: pages a day. 0: 10,000.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make a key, and print it. It is printed only now: what is stored is a hash of it.

    Examples:

        riffle keys add "weekly report" --scope search --expires-days 90 --per-minute 600
        riffle keys add "our handbook" --scope search --scope write --scope changes --host docs.example.org
    """
    scopes = tuple(dict.fromkeys(scope or READING_SCOPES))
    if unknown := [each for each in scopes if each not in SCOPES]:
        raise UsageError(f"there is no scope {unknown[0]!r}. The scopes are {', '.join(SCOPES)}")
    if not 1 <= len(name) <= MAX_NAME_CHARS:
        raise UsageError(f"a name has 1 to {MAX_NAME_CHARS} characters")
    hosts = _written_hosts(scopes, host or (), site)
    if writes_per_day and "write" not in scopes:
        raise UsageError("--writes-per-day is for a key with --scope write")
    now = now_micros()
    wanted = ApiKey(
        id="",
        name=name,
        digest=b"",
        scopes=scopes,
        created=now,
        expires=expires_at(now, expires_days) if expires_days else 0,
        per_minute=per_minute,
        per_day=per_day,
        site=site,
        hosts=hosts,
        writes_per_day=writes_per_day,
    )
    text, key = make_key(wanted, secrets.token_bytes(ID_BYTES + SECRET_BYTES))
    async with open_stores(load_settings(), ["records"]) as stores:
        if site and site not in {each.name for each in await stores.api_keys.sites()}:
            raise UsageError(f"there is no site {site!r}. Make it with `riffle sites add`")
        await stores.api_keys.put(key, now)
    if as_json:
        print_json({"key": text, **_row(key)})
        return
    out.print(text)
    err.print("Keep it now: it is not shown again. Send it as `Authorization: Bearer KEY`.")


_NAMED_SCOPES: dict[frozenset[str], str] = {frozenset(READING_SCOPES): "reading", frozenset(SCOPES): "all"}
"""Sets of scopes that a table names in a word."""


def _written_hosts(scopes: Sequence[str], named: Sequence[str], site: str) -> tuple[str, ...]:
    """Return the domains whose pages a key may write, as they are stored. Raises UsageError."""
    if "write" not in scopes:
        if named:
            raise UsageError("--host is for a key with --scope write")
        return ()
    if bool(named) == bool(site):
        raise UsageError("a key with --scope write has either --host, for each domain that it may write, or --site")
    hosts = tuple(
        dict.fromkeys(each if each == EVERY_HOST else ascii_host(each.strip().removeprefix("*.")) for each in named)
    )
    if "" in hosts or len(hosts) > MAX_DOMAINS:
        raise UsageError(f"give 1 to {MAX_DOMAINS} names of hosts with --host, such as docs.example.org, or '*'")
    return hosts


@keys_app.command("list")
@command
async def list_keys(as_json: AsJson = False) -> None:
    """List the keys, with the work that was done for them today.

    Example:  riffle keys list
    """
    day = int(time.time() // 86_400)
    async with open_stores(load_settings(), ["records"], use="read") as stores:
        keys = await stores.api_keys.all()
        rows = [await spending_of_day(stores.notes, f"k{key.id}", day) for key in keys]
    today = [sum(row.spent for row in each.values()) for each in rows]
    if as_json:
        print_json([{**_row(key), "today": spent} for key, spent in zip(keys, today, strict=True)])
        return
    if not keys:
        out.advise("There are no keys. Make one with `riffle keys add NAME`.")
        return
    out.print(_table(keys, today))


@keys_app.command("revoke")
@command
async def revoke_key(
    key_id: Annotated[str, typer.Argument(help="The id, as `riffle keys list` shows it, or the key itself.")],
    as_json: AsJson = False,
) -> int:
    """Revoke a key. Gateways refuse it after 30 seconds at the latest.

    Example:  riffle keys revoke 3f9a51c0d2b7
    """
    wanted = key_id.split("_")[1] if key_id.startswith(f"{PREFIX}_") and key_id.count("_") == 2 else key_id
    now = now_micros()
    async with open_stores(load_settings(), ["records"]) as stores:
        key = await stores.api_keys.get(wanted)
        if key is None:
            err.advise(f"There is no key {wanted}. `riffle keys list` shows the keys.")
            return EXIT_NO
        if not key.revoked:
            await stores.api_keys.put(replace(key, revoked=now), now)
    print_result(f"The key {wanted} ({key.name}) is revoked.", {"id": wanted, "name": key.name}, as_json)
    return 0


def _table(keys: Sequence[ApiKey], today: Sequence[int]) -> Table:
    """Return the keys as a table. A column that is empty for each key is left out: the others fit a terminal then."""
    rows = [
        {
            "id": key.id,
            "name": key.name,
            "scopes": _NAMED_SCOPES.get(frozenset[str](key.scopes)) or " ".join(key.scopes),
            "site": key.site,
            "writes": " ".join(key.hosts),
            "expires": _date(key.expires),
            "a minute": f"{key.per_minute:,}" if key.per_minute else "",
            "a day": f"{key.per_day:,}" if key.per_day else "",
            "today": f"{spent:,}",
            "state": _state(key),
        }
        for key, spent in zip(keys, today, strict=True)
    ]
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    shown = table(*columns, whole=["id", "name", "today", "state"])
    for row in rows:
        shown.add_row(*(row[name] for name in columns))
    return shown


def _row(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "site": key.site,
        "hosts": list(key.hosts),
        "writes_per_day": key.writes_per_day,
        "created": _date(key.created),
        "expires": _date(key.expires) or None,
        "per_minute": key.per_minute,
        "per_day": key.per_day,
        "state": _state(key),
    }


def _state(key: ApiKey) -> str:
    if key.revoked:
        return "revoked"
    return "expired" if key.expires and key.expires <= now_micros() else "valid"


def _date(micros: int) -> str:
    return datetime.fromtimestamp(micros / _MICROS, UTC).date().isoformat() if micros else ""


sites_app = command_group("Sites with a search of their own: make, list, remove.")


class OwnWords(BaseModel):
    """The file of a site's own words."""

    model_config = ConfigDict(extra="forbid")

    synonyms: list[list[str]] = []
    pinned: dict[str, str] = {}


_SITE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@sites_app.command("add")
@command
async def add_site(
    name: Annotated[str, typer.Argument(help="Its name in addresses: /sites/NAME.")],
    host: Annotated[
        list[str] | None, typer.Option(help="A domain, with its subdomains. Give it once for each. Default: as it was.")
    ] = None,
    title: Annotated[str, typer.Option(help="Its name for people. Default: NAME.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Only keys of the site find its pages.")] = False,
    words: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A JSON file with its own words: synonyms and pinned pages."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a site, or replace it. Its search is at /sites/NAME. The box for other pages is printed.

    Without --host, a site keeps its hosts, its title and whether it is private. It keeps its own words without --words.

    Examples:

        riffle sites add docs --host docs.example.org --title "Our handbook"
        riffle sites add docs --words words.json
    """
    if not _SITE_NAME.fullmatch(name):
        raise UsageError(f"{name!r} can't be a name: up to 40 of a-z, 0-9 and -")
    hosts = tuple(dict.fromkeys(ascii_host(each.strip().removeprefix("*.")) for each in host or ()))
    if "" in hosts or len(hosts) > MAX_DOMAINS:
        raise UsageError(f"give 1 to {MAX_DOMAINS} names of hosts, such as docs.example.org")
    settings = load_settings()
    if private and not settings.access.private_sites:
        raise UsageError("private sites need RIFFLE_ACCESS__PRIVATE_SITES=true, for this command and for the gateways")
    async with open_stores(settings, ["records", "vectors"]) as stores:
        known = {site.name: site for site in await stores.api_keys.sites()}.get(name)
        if not hosts:
            if known is None:
                raise UsageError(f"there is no site {name!r}: give --host, for each of its domains")
            made = replace(known, title=title or known.title, is_private=private or known.is_private)
        else:
            made = Site(name, title or name, hosts, private)
        made = _with_words(made, known, words)
        await _change_site(stores, name, made)
    hosts, private = made.hosts, made.is_private
    says = f"The site {name} has {len(hosts)} {'host' if len(hosts) == 1 else 'hosts'}."
    box = "" if private else box_of(made, settings.gateway.public_url or settings.gateway.address)
    if box:
        says += f" Its search is at /sites/{name}, and this box leads to it:"
    if made.synonyms or made.pinned:
        says = f"{says} It has {len(made.synonyms)} groups of synonyms and {len(made.pinned)} pinned pages."
    found = {"name": name, "title": made.title, "hosts": list(hosts), "private": private, "box": box}
    found |= _words_of(made)
    print_result(says, found, as_json)
    if box and not as_json:
        out.print(box, soft_wrap=True)


def _words_of(site: Site) -> dict[str, Any]:
    """Return the own words of a site as the fields of a file of them."""
    return {"synonyms": [list(group) for group in site.synonyms], "pinned": dict(site.pinned)}


def _with_words(site: Site, known: Site | None, file: Path | None) -> Site:
    """Return the site with the own words of a file, or with those that it has. Raises UsageError."""
    if file is None:
        if known is None:
            return site
        pinned = [each for each in known.pinned if is_page_below(each[1], site.hosts)]
        return replace(site, synonyms=known.synonyms, pinned=tuple(pinned))
    try:
        found = OwnWords.model_validate_json(file.read_bytes()[: MAX_BYTES + 1])
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in fault["loc"])
        raise UsageError(f"{file}: {where or 'it'}: {fault['msg']}. It has `synonyms` and `pinned`") from None
    return checked(site, found.synonyms, found.pinned.items())


def box_of(site: Site, base: str) -> str:
    """Return the HTML of a form for other pages, which loads nothing until somebody searches.

    `base` is the gateway's address.
    """
    return (
        f'<form action="{escape(base.rstrip("/"))}/sites/{escape(site.name)}" method="get" role="search">\n'
        f"  <label>Search {escape(site.title)}\n"
        '    <input type="search" name="q" required></label>\n'
        '  <button type="submit">Search</button>\n'
        "</form>"
    )


async def _change_site(stores: Stores, name: str, wanted: Site | None) -> None:
    """Store a site, or remove it (None), and change who may find its pages.

    The index may be away meanwhile, and the command is run again then. So the pages that leave a private site are
    changed before it is stored: later nobody knows that they were its pages. The pages that come into one are changed
    afterwards: once it is stored, nobody else finds them.
    """
    sites = await stores.api_keys.sites()
    known = next((site for site in sites if site.name == name), None)
    private = wanted.hosts if wanted and wanted.is_private else ()
    left = [host for host in (known.hosts if known and known.is_private else ()) if host not in private]
    sites = [*(site for site in sites if site.name != name), *([wanted] if wanted else [])]
    if left:
        await change_audiences(stores.vectors, left, sites)
    if wanted:
        await stores.api_keys.put_site(wanted, now_micros())
    else:
        await stores.api_keys.remove_site(name, now_micros())
    if private:
        await change_audiences(stores.vectors, private, sites)
    if private or left:
        _advise_replays([*private, *left])


def _advise_replays(hosts: Iterable[str]) -> None:
    """Say what pages need after a change of who may find them: it is part of their duplicates, links and words, too."""
    out.advise(
        "Who may find its pages holds at once. Pages that were crawled before keep their duplicates, links and words "
        "until they are read again: "
        + "; ".join(f"`riffle replay --from normalize --host {host}`" for host in hosts)
        + ". `riffle up` and `riffle doctor` say so until then."
    )


@sites_app.command("list")
@command
async def list_sites(as_json: AsJson = False) -> None:
    """List the sites.

    Example:  riffle sites list
    """
    async with open_stores(load_settings(), ["records"], use="read") as stores:
        sites = await stores.api_keys.sites()
    if as_json:
        print_json([
            {"name": each.name, "title": each.title, "hosts": list(each.hosts), "private": each.is_private,
             **_words_of(each)}
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
async def remove_site(name: Annotated[str, typer.Argument(help="Name of the site.")], as_json: AsJson = False) -> None:
    """Remove a site. Its pages stay in the index, and its keys are refused.

    Example:  riffle sites remove docs
    """
    async with open_stores(load_settings(), ["records", "vectors"]) as stores:
        await _change_site(stores, name, None)
    print_result(f"The site {name} is removed.", {"name": name}, as_json)
