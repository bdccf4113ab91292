"""The templates, the stylesheets, the script and the icon of the pages for people.

Stylesheets and the script stand in the pages themselves, so that a page needs no second answer before it is shown. The
policy of the pages allows them by their hashes (Content Security Policy, level 3, section 8.4).
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, nodes
from jinja2.ext import InternationalizationExtension
from jinja2.parser import Parser
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from streams.gateway.http import presentation
from streams.gateway.http.highlighting import segments
from streams.gateway.http.languages import ENGLISH, Wording
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

    def language(self, request: Request) -> str:
        """Return the language of the pages for this request."""
        return str(self._personal(request).get("page_language", ENGLISH))

    def say(self, request: Request, text: str) -> str:
        """Return a sentence that the code made, in the language of this request."""
        return Wording.of(self.language(request)).say(text)

    def render(self, template: str, request: Request, **values: Any) -> str:
        """Return a page, or a part of one, in the language that follows from the request."""
        given = {
            "path": request.url.path,
            "static": self.static.address,
            **self._shared,
            **_DEFAULTS,
            **self._personal(request),
            **values,
        }
        return templates(given["page_language"]).get_template(template).render(given)


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


_PLACE = re.compile(r"%\((\w+)\)s")


class _CompiledMessages(InternationalizationExtension):
    """The usual extension for gettext. A message without a plural is put into its place when a template is compiled.

    The templates of each language are compiled by themselves, so a page of ten results looks no message up.
    """

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        made = super().parse(parser)
        return [self._placed(each) for each in made] if isinstance(made, list) else self._placed(made)

    def _placed(self, made: nodes.Node) -> nodes.Node:
        match made:
            case nodes.Output(
                nodes=[nodes.Call(node=nodes.Name(name="gettext"), args=[nodes.Const(value=text)]) as call]
            ):
                values = {each.key: each.value for each in call.kwargs}
                return nodes.Output(list(self._parts(str(text), values)), lineno=made.lineno)
        return made

    def _parts(self, message: str, values: dict[str, nodes.Expr]) -> Iterator[nodes.Expr]:
        wording: Wording = self.environment.globals["wording"]  # type: ignore[assignment]  # set right below
        for place, piece in enumerate(_PLACE.split(wording.translate(message))):
            yield values[piece] if place % 2 else nodes.TemplateData(piece.replace("%%", "%"))


_LOADER = _Sources([_HERE / "templates", _HERE / "styles", _HERE / "scripts"])


def templates(language: str = ENGLISH) -> Environment:
    """Return the compiled templates, shared by all apps of the process: compiling is slow, rendering is not."""
    return _compiled(language)


@cache
def _compiled(language: str) -> Environment:
    environment = Environment(
        loader=_LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_CompiledMessages],
        auto_reload=False,  # each part of a page would look whether its file has changed
    )
    wording = Wording.of(language)
    environment.policies["ext.i18n.trimmed"] = True
    environment.newstyle_gettext = True  # type: ignore[attr-defined]  # an attribute of the extension
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
        "beside": presentation.words_beside,
        "leads_of": lambda statements: presentation.leads_of([(one.text, one.kind, one.context) for one in statements]),
        "line": presentation.clean_line,
        "fold": presentation.fold_text,
        "plain": presentation.one_line,
        "crumbs": presentation.breadcrumbs,
        "host_name": host_of,
        "quoted": presentation.quoted,
        "say": wording.say,
    }
    environment.globals |= {
        "wording": wording,
        "_": wording.gettext,
        "ngettext": wording.ngettext,
        "page_language": wording.tag,
        "page_direction": wording.direction,
        "address": address,
        "format_number": wording.number,
        "format_age": wording.age,
        "format_date": wording.date,
        "format_stated_date": wording.stated_date,
        "language_name": wording.language_name,
        "writes_right_to_left": presentation.writes_right_to_left,
        "page_type_name": presentation.page_type_name,
        "format_price": wording.price,
        "format_duration": wording.duration,
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
    "page_language": ENGLISH,
    "hidden_results": 0,
    "folds": False,
    "has_preferences": False,
    "has_model": False,
    "has_late": False,
    "is_asked": False,
    "is_ready": False,
    "in_site": False,
    "here": "/search",
    "own_language": "",
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
