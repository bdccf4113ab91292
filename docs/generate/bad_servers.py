"""The page of what the crawler records of each kind of bad server, trap and hostile script of `tests/hostile`."""

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

from tests.hostile.rendered_pages import HOSTILE_PAGES
from tests.hostile.traps import TRAPS
from tests.hostile.zoo import ZOO, Kind

LINE_CHARACTERS = 150

_INTRODUCTION = """\
# Bad servers

What the crawler records of {kinds} kinds of bad servers, {traps} hosts [without end](#traps) and {pages} pages with
[hostile scripts](#scripts). Each ends within its bytes and seconds (`RIFFLE_CRAWL__MAX_BODY_BYTES`,
`RIFFLE_CRAWL__TIMEOUT_SECONDS`), and none in an exception. `make schemas` writes this page from the tests.

| promise | tests |
|---|---|
| a bad server and a trap have the outcome that stands here | [test_zoo] |
| a hostile script ends, sends nothing and reaches no private address | [test_rendering] |

[test_zoo]: ../../tests/hostile/test_zoo.py
[framing]: ../../tests/unit/crawl/test_framing.py
[codings]: ../../tests/unit/crawl/test_content_encoding.py
[media_types]: ../../tests/unit/test_media_types.py
[tls]: ../../tests/hostile/test_tls_failures.py
[test_rendering]: ../../tests/hostile/test_rendering.py

[What they cost](crawler.md#figures).

## Answers that are refused

Many servers break a rule of HTTP. What RFC 9112 lets a client go on with is read, and the connection is closed behind
it ([0110](../decisions/0110-answers-in-a-strict-form.md)). Unknown content codings and media types change nothing: the
bytes decide. These answers are refused:

| answer | why | tests |
|---|---|---|
| two lengths; a length or chunk size that is no number; bytes beyond a chunk | its end has two readings | [framing] |
| HTTP/0.9, no status, another protocol; a NUL in the head | it has no head; browsers refuse it, too | [framing] |
| headers over 64 KiB; more than 20 answers 1xx; chunks of one byte | limits | [framing] |
| a transfer coding beside chunks, three content codings, `compress` | no request asks for it | [test_zoo], [codings] |
| a body that ends before its last tag; a damaged coding | a part is missing: most are tried again | [test_zoo] |
| an image, an archive, a font, also as `text/html` | it is no page | [media_types] |
| an expired or incomplete chain of certificates, other names | the server may be another one | [tls] |"""

_TRAPS = """\
## Traps

The outcome is recorded of the URLs that are left out (`ok`: none is, since a session id is no part of a URL). The
host's two other pages are fetched. The requests are all that the host gets in a crawl.

| host | outcome | requests |
|---|---|---:|"""

_SCRIPTS = """\
## Scripts

`rendered`: the document is taken after its scripts ran, without what was refused. `static document`: a limit was
reached, or the scripts left nothing; the page keeps the document that it has without scripts
([rendering](rendering.md))."""


def bad_servers_page() -> str:
    """docs/reference/hostile-servers.md: the outcome of each kind, by group."""
    parts = [_INTRODUCTION.format(kinds=len(ZOO), traps=len(TRAPS), pages=len(HOSTILE_PAGES))]
    for group, members in groupby(ZOO, key=lambda kind: kind.group):
        parts += [f"## {group.capitalize()}", "\n".join(_by_outcome((_outcome(kind), kind.name) for kind in members))]
    traps = (f"| {trap.name} | `{trap.outcome}` | {trap.requests} |" for trap in TRAPS)
    scripts = _by_outcome((f"`{page.outcome}`", page.name) for page in HOSTILE_PAGES)
    return "\n\n".join([*parts, "\n".join([_TRAPS, *traps]), _SCRIPTS, "\n".join(scripts)]) + "\n"


def _outcome(kind: Kind) -> str:
    outcome, is_retried = kind.outcome
    return f"`{outcome}`, tried again" if is_retried else f"`{outcome}`"


def _by_outcome(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield an item of a list for each outcome, with the names of all that have it."""
    names: dict[str, list[str]] = {}
    for outcome, name in rows:
        names.setdefault(outcome, []).append(name)
    for outcome, listed in names.items():
        text = f"- {outcome}: {'; '.join(listed)}"
        yield textwrap.fill(text, LINE_CHARACTERS, subsequent_indent="  ", break_on_hyphens=False)
