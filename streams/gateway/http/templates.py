"""The templates, the stylesheets, the script and the icon of the pages for people.

Stylesheets and the script stand in the pages themselves, so that a page needs no second answer before it is shown. The
policy of the pages allows them by their hashes (Content Security Policy, level 3, section 8.4).
"""

import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from streams.gateway.http import presentation
from streams.gateway.http.highlighting import segments
from streams.knowledge.lookup.panel import host_of

_HERE = Path(__file__).parents[1]
STYLES = ("riffle.css", "pages.css", "labs.css", "admin.css")
"""The stylesheets, which stand in pages."""
SCRIPT = "suggest.js"
"""The one script of the pages, which stands in them likewise."""
_MEDIA_TYPES = {".svg": "image/svg+xml"}
_YEAR_SECONDS = 31_536_000


class Views:
    """The renderer of the pages for people. Every value is escaped; no template marks a value as safe."""

    def __init__(
        self,
        *,
        has_clicks: bool = False,
        has_suggestions: bool = False,
        personal: Callable[[Request], dict[str, Any]] | None = None,
    ) -> None:
        """`has_clicks`: the pages say that clicks are counted. `has_suggestions`: pages have the script of the search
        box. `personal`: values that follow from cookies."""
        self._shared: dict[str, Any] = {"has_clicks": has_clicks, "has_suggestions": has_suggestions}
        self._personal = personal or (lambda _request: {})
        self.static = StaticFiles(_HERE / "static")
        self.style_hashes = tuple(source_hash(templates().get_template(name).render()) for name in STYLES)
        """The hashes of all stylesheets that pages may have, for the policy of the pages."""
        self.script_hashes = (source_hash(templates().get_template(SCRIPT).render()),) if has_suggestions else ()
        """The hash of the script, where pages have it."""

    def share(self, **values: Any) -> None:
        """Give values, such as functions that format, to all templates of this renderer."""
        self._shared |= values

    def render(self, template: str, request: Request, **values: Any) -> str:
        given = {
            "path": request.url.path,
            "static": self.static.address,
            **self._shared,
            **_DEFAULTS,
            **self._personal(request),
            **values,
        }
        return templates().get_template(template).render(given)


class _Sources(FileSystemLoader):
    """The loader of templates. Styles and scripts, which each page has, are loaded without comments and indentation."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        source, name, is_current = super().get_source(environment, template)
        if template.endswith(".css"):
            rules = "".join(part.partition("*/")[2] or part for part in source.split("/*"))
            source = _BORDERS.sub(r"\1", " ".join(rules.split()))
        elif template.endswith(".js"):
            source = "\n".join(line.strip() for line in source.splitlines() if not line.lstrip().startswith("//"))
        return source, name, is_current


_BORDERS = re.compile(" ?([{};,]) ?")


@cache
def templates() -> Environment:
    """Return the compiled templates, shared by all apps of the process: compiling is slow, rendering is not."""
    environment = Environment(
        loader=_Sources([_HERE / "templates", _HERE / "styles", _HERE / "scripts"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "segments": segments,
        "href": presentation.safe_href,
        "fragment": presentation.fragment_href,
        "split_context": presentation.split_context,
        "surround": lambda statement: presentation.surround(statement.text, statement.kind, statement.context),
        "lead_of": lambda statement: presentation.lead_of(statement.text, statement.kind, statement.context),
        "listing": presentation.listing_of,
        "tile": presentation.tile_of,
        "sharing": presentation.sharing_words,
        "leads_of": lambda statements: presentation.leads_of([(one.text, one.kind, one.context) for one in statements]),
        "line": presentation.clean_line,
        "fold": presentation.fold_text,
        "plain": presentation.one_line,
        "crumbs": presentation.breadcrumbs,
        "host_name": host_of,
        "quoted": presentation.quoted,
    }
    environment.globals |= {
        "address": address,
        "format_age": presentation.format_age,
        "format_date": presentation.format_date,
        "language_name": presentation.language_name,
        "writes_right_to_left": presentation.writes_right_to_left,
        "page_type_name": presentation.page_type_name,
        "format_price": presentation.format_price,
        "format_duration": presentation.format_duration,
    }
    return environment


_DEFAULTS: dict[str, Any] = {
    "query": "",
    "host": "",
    "language": "",
    "sort": "",
    "subject": "",
    "theme": "",
    "message": None,
    "keys": True,
    "hidden_results": 0,
    "folds": False,
    "has_preferences": False,
    "has_model": False,
    "has_late": False,
    "is_asked": False,
    "is_ready": False,
    "in_site": False,
    "personal": None,
}


def address(path: str, **parameters: object) -> str:
    """Return a link to another page of the gateway. Empty parameters are left out."""
    given = {name: value for name, value in parameters.items() if value not in ("", None)}
    return f"{path}?{urlencode(given)}" if given else path


def source_hash(content: str) -> str:
    """Return the hash of an inline style or script, as a Content-Security-Policy names it."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


class StaticFiles:
    """The static files in memory. Their names change with their content, so that browsers cache them for a year."""

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        self._names: dict[str, str] = {}
        for path in sorted(folder.iterdir()):
            if path.suffix not in _MEDIA_TYPES:
                continue
            content = path.read_bytes()
            digest = blake2b(content, digest_size=6).hexdigest()
            self._names[path.name] = f"{path.stem}.{digest}{path.suffix}"
            self._files[self._names[path.name]] = (content, _MEDIA_TYPES[path.suffix])

    def address(self, name: str) -> str:
        return f"/static/{self._names[name]}"

    def response(self, name: str) -> Response:
        if name not in self._files:
            raise HTTPException(404)
        content, media_type = self._files[name]
        headers = {"Cache-Control": f"public, max-age={_YEAR_SECONDS}, immutable"}
        return Response(content, media_type=media_type, headers=headers)
