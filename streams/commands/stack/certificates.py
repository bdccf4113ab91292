"""`riffle certificates`: the identities of the local stack."""

from datetime import UTC, datetime

from cryptography import x509

from streams.commands.console import EXIT_NO, AsJson, command, local_home, out, print_json, table
from streams.local.tls.identities import NAMES, Identities


@command
def certificates(as_json: AsJson = False) -> int:
    """List the identities of the local stack: name, days left, file.

    Example:  riffle certificates
    """
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
