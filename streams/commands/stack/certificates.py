"""`riffle certificates`: the identities of the local stack."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from cryptography import x509

from streams.commands.console import (
    EXIT_NO,
    AsJson,
    command,
    load_settings,
    local_home,
    out,
    print_json,
    table,
)
from streams.local.tls.identities import NAMES, Identities
from streams.local.tls.renewal import renew_all


@command
def certificates(
    renew: Annotated[
        bool, typer.Option("--renew", help="Give every identity a new certificate while the stack runs.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """List the identities of the local stack (name, days left, file), or renew their certificates.

    At a renewal Riffle's processes and Kafka go on. Triton and Cassandra are restarted one after the other.

    Examples:

        riffle certificates
        riffle certificates --renew
    """
    if renew:
        _renew(as_json)
        return 0
    rows = _rows(Identities(local_home()), datetime.now(UTC))
    if as_json:
        print_json(rows)
    elif not rows:
        out.advise("There are no certificates here. Make them with `riffle up --tls`.")
    else:
        listed = table("Name", "Days left", "File", whole=("Name",), title="Certificates")
        for row in rows:
            listed.add_row(str(row["name"]), str(row["days_left"]), str(row["file"]))
        out.print(listed)
    return 0 if rows else EXIT_NO


def _rows(identities: Identities, now: datetime) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name in NAMES:
        path = identities[name].cert
        if path.exists():
            until = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
            rows.append({"name": name, "days_left": (until - now).days, "valid_until": until, "file": str(path)})
    return rows


def _renew(as_json: bool) -> None:
    home = local_home()
    steps: list[str] = []

    def show(step: str) -> None:
        steps.append(step)
        if not as_json:
            out.print(step, highlight=False)

    renew_all(home, load_settings(home=home), datetime.now(UTC), show)
    if as_json:
        print_json({"steps": steps})
