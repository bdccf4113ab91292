"""The URL rules: the canonical URL of a page, and which URLs are worth a fetch. Pure.

The parser follows the URL standard (`ada_url`), because links are written for browsers. After it come the normalization
of RFC 3986, section 6.2.2, and rules of a search engine: only https, no fragments, no credentials, no tracking
parameters. Other origins than public ones are refused, or rewritten to https, unless the caller allows them
(`streams.allowed_origins`). No name is resolved here. A name may still lead to a private address:
`streams.crawl.fetch.guard` checks the address of each connection.

Tracking parameters follow people and change nothing on the page. Each name is from the documentation of the service
that sets it, or from the list of parameters that Firefox removes in strict mode (Mozilla, remote settings, collection
`query-stripping`). A name that may select content on some site (`ref`, `source`, `campaign`) is not here: such names
are learned per host, from duplicates (`url_rules`).
"""

import re
from functools import lru_cache

from ada_url import URL, HostType

from streams.allowed_origins import ADVICE, EVERY_ORIGIN, NO_ORIGINS, Origins, OwnOrigin, is_public, origin_of

MAX_URL_CHARS = 2_048
"""Maximum characters of a canonical URL. Longer URLs are traps more often than pages (RFC 9110, 4.1, asks for 8000)."""
MAX_INPUT_CHARS = 16_384
"""Maximum characters that are parsed: `data:` URLs of whole images are common in links."""
MAX_PATH_SEGMENTS = 24
"""Maximum segments of a path that is crawled."""
MAX_SEGMENT_REPEATS = 3
"""Maximum repetitions of a path segment: calendars and wrong relative links build /a/b/a/b/a/b without end."""
MAX_QUERY_PARAMETERS = 16
"""Maximum parameters of a URL that is crawled."""
MAX_HOST_CHARS = 253
"""Maximum characters of a host (RFC 1035, section 2.3.4, without the trailing dot)."""

_SESSION_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|aspsessionid[a-z]{0,8}|cfid|cftoken)=[^/;?]*+|/\((?:[a-z]\([\w.*-]*+\))++\)(?=/)",
    re.IGNORECASE,
)
"""Session ids of servlets, PHP, ColdFusion, and of ASP.NET without cookies: `/(S(lit3py55t21z5v55vlm25s55))/`."""
_SORTED_LISTING = re.compile(
    r"(?:[CFOPV]=[\w.*-]*+[;&]?+){1,5}+|[NMSD]=[AD]"  # Apache 2, nginx, lighttpd, Tomcat, Jetty; Apache 1.3
    r"|sort=(?:name|namedirfirst|size|time)&order=(?:asc|desc)"  # Caddy
)
"""Queries that only sort the listing of a folder, by the names that servers give them."""
_SORT_COLUMN = re.compile(r"(?:^|[;&])C=[NMSD](?:[;&]|$)|^[NMSD]=|^sort=")

NEVER_IN_URLS = ' "<>[\\]^`{|}'
"""Characters in ASCII that RFC 3986 allows in no path and no query. Here they are always escaped, in both alike, so two
spellings that servers take for one are one. Control characters and all that is not ASCII the parser escapes itself."""
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NEVER = re.compile(f"[{re.escape(NEVER_IN_URLS)}]")
_PERCENT = re.compile(r"%(?:([0-9A-Fa-f]{2}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")

# Not .js: on Wikipedia and elsewhere /Node.js is a page, and scripts are seldom the target of a link.
_FILE_EXTENSIONS = (
    "7z aac apk avi avif bin bmp bz2 css csv dat deb dmg doc eot exe flac flv gif gz ico ics img iso jar "
    "jpeg jpg json jsonld m4a m4v mid mkv mov mp3 mp4 mpeg mpg msi ogg ogv otf png ppt "
    "ps rar rpm rtf svg swf tar tgz tif tiff torrent ttf wasm wav webm webmanifest webp whl wmv woff woff2 xls "
    "xz zip zst"
)
_NOT_PAGES = frozenset(_FILE_EXTENSIONS.split())
_BY_SERVICE = {
    # Advertisements: identifiers of a click.
    "Google Ads": "gclid gclsrc dclid gbraid wbraid",
    "Google Merchant Center": "srsltid",
    "Meta": "fbclid igshid igsh",
    "Microsoft Advertising": "msclkid",
    "X": "twclid",
    "TikTok": "ttclid",
    "Yandex": "yclid ysclid _openstat",
    "LinkedIn": "li_fat_id",
    "Reddit": "rdt_cid",
    "Pinterest": "epik",
    "Snapchat": "sccid",
    "Yahoo": "vmcid",
    "Branch": "_branch_match_id _branch_referrer",
    # Letters by e-mail: identifiers of a reader.
    "Mailchimp": "mc_cid mc_eid",
    "HubSpot": "_hsenc _hsmi __hssc __hstc __hsfp hsctatracking",
    "Marketo": "mkt_tok",
    "Omeda": "oly_anon_id oly_enc_id",
    "MailerLite": "ml_subscriber ml_subscriber_hash",
    "Klaviyo": "_kx",
    "Drip": "__s",
    "Vero": "vero_id vero_conv",
    "Omnisend": "oft_id oft_ids oft_c oft_ck oft_d oft_k oft_lk oft_sk",
    # Measuring visits.
    "Google Analytics": "_ga _gl",
    "Adobe Analytics": "s_cid",
    "Wicked Reports": "wickedid",
    "Rakuten": "rb_clickid",
    # Sessions of application servers.
    "PHP, Java, ASP": "phpsessid jsessionid aspsessionid",
    "ColdFusion, osCommerce, xt:Commerce, Zen Cart": "cfid cftoken oscsid xtcsid zenid",
}
_TRACKING_NAMES = frozenset(name for names in _BY_SERVICE.values() for name in names.split())
"""Names in lower case."""
_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "hsa_")
"""Beginnings of names: Google Analytics (`utm_`), Matomo (`pk_`, `mtm_`), HubSpot Ads (`hsa_`)."""


class InvalidUrl(ValueError):
    """A URL that Riffle never fetches. `rule` names the URL rule, for the ledger and the metrics; `detail` is
    the reason without advice."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(f"{rule}: {detail}")
        self.rule = rule
        self.detail = detail.removesuffix(f". {ADVICE}")


def canonicalize(url: str, allowed: Origins = NO_ORIGINS) -> str:
    """Return the canonical URL of an absolute URL. `canonicalize(canonicalize(u)) == canonicalize(u)`.

    An allowed origin that is not public keeps its scheme, port and name. Raises InvalidUrl with the rule: syntax,
    scheme, credentials, host or length.
    """
    return _canonical(_parse(url, None), allowed)


def resolve(base: str, href: str) -> str:
    """Return the canonical URL of a link `href` on the page `base`. Raises InvalidUrl as `canonicalize` does."""
    return _canonical(_parse(href, base), OwnOrigin(base))


def with_scheme(address: str, allowed: Origins = NO_ORIGINS) -> str:
    """Return the canonical URL of an address typed by a person, with or without https://. Raises InvalidUrl."""
    return canonicalize(address if "://" in address else f"https://{address}", allowed)


def possible_urls(address: str) -> tuple[str, ...]:
    """Return the canonical URLs that a typed address may be stored under: as a public one, or at its own origin.

    Raises InvalidUrl if there is none.
    """
    found = with_scheme(address, EVERY_ORIGIN)
    try:
        return tuple(dict.fromkeys([with_scheme(address), found]))
    except InvalidUrl:
        return (found,)


INDEX_FILES = ("index.html", "index.htm", "index.xhtml")
"""Names of the page of a folder. `Index.html` is none: beside it, it is often the index of terms of a manual."""


def page_urls(address: str) -> tuple[str, ...]:
    """Return the URLs of `possible_urls`, and the URLs of the same page by its folder or by its index file.

    Raises InvalidUrl if there is none.
    """
    found = list(possible_urls(address))
    for url in tuple(found):
        folder, _, name = url.rpartition("/")
        if name in INDEX_FILES:
            found.append(f"{folder}/")
        elif not name:
            found.append(f"{url}{INDEX_FILES[0]}")
    return tuple(dict.fromkeys(found))


def host_of(url: str) -> str:
    """Return the host of a canonical URL. A public name is without its port; any other origin has it."""
    authority = url.partition("://")[2].partition("/")[0]
    if url.startswith("https://") and "." in authority and not authority.startswith("["):
        return authority.partition(":")[0]
    return authority


def reason_not_to_crawl(url: str, allowed: Origins = NO_ORIGINS) -> str | None:
    """Return why a canonical URL is not worth a fetch, or None if it is worth one."""
    origin = origin_of(url)
    if _public_origin(origin.removeprefix("https://")) != origin and not allowed.allows(origin):
        return f"port: only 443 is crawled. {ADVICE}" if url.startswith("https://") else f"origin: {origin}. {ADVICE}"
    path, _, query = url.removeprefix(origin).removeprefix("/").partition("?")
    segments = path.split("/")
    if len(segments) > MAX_PATH_SEGMENTS:
        return f"trap: more than {MAX_PATH_SEGMENTS} path segments"
    named = [segment for segment in segments if segment]
    if len(named) > MAX_SEGMENT_REPEATS and any(named.count(segment) > MAX_SEGMENT_REPEATS for segment in set(named)):
        return f"trap: a path segment that repeats more than {MAX_SEGMENT_REPEATS} times"
    if query.count("&") >= MAX_QUERY_PARAMETERS:
        return f"trap: more than {MAX_QUERY_PARAMETERS} query parameters"
    name, dot, extension = segments[-1].rpartition(".")
    # /wiki/File:Moon.jpg is a page about a picture.
    if name and dot and ":" not in name and extension.lower() in _NOT_PAGES:
        return f"type: .{extension.lower()} is not a page"
    return None


def _parse(url: str, base: str | None) -> URL:
    if len(url) > MAX_INPUT_CHARS:
        raise InvalidUrl("length", f"{len(url)} characters")
    try:
        return URL(url, base)
    except ValueError:  # UnicodeEncodeError of lone surrogates is one, too
        raise InvalidUrl("syntax", f"{url[:100]!r} is no absolute URL") from None


def _canonical(parsed: URL, allowed: Origins) -> str:
    # One string from the parser and its parts by hand: each property of the parser costs as much as all of this.
    scheme, _, rest = parsed.href.partition("://")
    if scheme not in ("https", "http"):
        raise InvalidUrl("scheme", f"{parsed.protocol[:40]} is not http or https")
    authority, _, rest = rest.partition("#")[0].partition("/")
    if "@" in authority:
        raise InvalidUrl("credentials", "the URL holds a user name or password")
    origin = (_public_origin(authority) if scheme == "https" else None) or _origin(parsed, allowed)
    path, _, query = rest.partition("?")
    path = _path(f"/{path}")
    query = "" if _sorts_listing(path, query) else _query(_normalize_escapes(query))
    url = f"{origin}{path}{'?' if query else ''}{query}"
    if len(url) > MAX_URL_CHARS:
        raise InvalidUrl("length", f"{len(url)} characters, {MAX_URL_CHARS} are allowed")
    return url


@lru_cache(maxsize=16_384)
def _public_origin(authority: str) -> str | None:
    """Return the origin with https if it is a public one, without the dot at the end of its name."""
    host = authority.removesuffix(".")
    is_name = len(host) <= MAX_HOST_CHARS and all(map(_LABEL.fullmatch, host.split(".")))
    return f"https://{host}" if is_name and is_public(f"https://{host}") else None


def _origin(parsed: URL, allowed: Origins) -> str:
    """Return the origin: as it is if it is allowed, or else with https and a public name."""
    host: str = parsed.hostname.removesuffix(".")
    is_name = parsed.host_type == HostType.DEFAULT
    labels = host.split(".")
    if is_name and (len(host) > MAX_HOST_CHARS or not all(map(_LABEL.fullmatch, labels))):
        raise InvalidUrl("host", f"{host[:100]!r} is not a DNS name")
    is_public_origin = is_name and len(labels) > 1 and parsed.protocol == "https:" and not parsed.port
    own = f"{parsed.protocol}//{host}{f':{parsed.port}' if parsed.port else ''}"
    if is_public_origin or allowed.allows(own):
        return own
    if not is_name:
        raise InvalidUrl("host", f"{host} is an IP address. {ADVICE}")
    if len(labels) < 2 and not allowed.allows(f"https://{host}"):
        raise InvalidUrl("host", f"{host!r} is not a public name: it has one label only. {ADVICE}")
    return f"https://{host}{f':{parsed.port}' if parsed.port and parsed.port != '443' else ''}"


def _path(path: str) -> str:
    """Return the path without session ids, with its escapes normalized."""
    path = _normalize_escapes(path)
    if ";" not in path and "/(" not in path:
        return path
    without_session = _SESSION_IN_PATH.sub("", path)
    if without_session == path:
        return path
    # A segment without its session id may be `..`, and the parser resolves such segments.
    return str(URL(f"https://host.example{without_session}").pathname)


def _normalize_escapes(text: str) -> str:
    """Escape what no URL has, decode escaped unreserved characters, and write hexadecimal digits in upper case.

    This is RFC 3986, section 6.2.2.

    A `%` that starts no escape becomes %25. Otherwise it could form an escape with the decoded characters after it.
    """
    if "%" in text:
        text = _PERCENT.sub(_escape, text)
    return _NEVER.sub(lambda found: f"%{ord(found[0]):02X}", text) if _NEVER.search(text) else text


def _escape(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return "%25"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else f"%{digits.upper()}"


def _query(query: str) -> str:
    """Return the query without tracking parameters. The order is kept, since it may matter to the server."""
    return "&".join(pair for pair in query.split("&") if pair and not _is_tracking(pair)) if query else ""


def _sorts_listing(path: str, query: str) -> bool:
    """Return whether the URL is the listing of a folder in another order: each folder has 8 such links."""
    if not query or not path.endswith("/"):
        return False
    return _SORTED_LISTING.fullmatch(query) is not None and _SORT_COLUMN.search(query) is not None


def _is_tracking(pair: str) -> bool:
    name = pair.partition("=")[0].lower()
    return name in _TRACKING_NAMES or name.startswith(_TRACKING_PREFIXES)
