"""Preferences: what a person has set, and its forms as a file and as a link. Pure."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from streams.errors import InvalidQuery
from streams.gateway.http.languages import languages
from streams.plain_text import message
from streams.search.query_language.matching import ascii_host
from streams.search.ranking.rules import PersonalRules
from streams.search.request import normalize_language

MAX_SITES = 100
MAX_SITE_CHARS = 2_200
"""Maximum characters of all sites together: a browser keeps cookies of 4,096 bytes."""
_TOO_MANY = message(
    "At most %(sites)s sites with %(chars)s characters together are kept.", sites=MAX_SITES, chars=MAX_SITE_CHARS
)
_NO_PAGES = message("There are no pages in this language.")
RULES = ("raised", "lowered", "hidden")

Site = Annotated[str, Field(max_length=253)]


class InvalidPreferences(ValueError):
    """Preferences that can't be read, with a sentence for people."""


class Preferences(BaseModel):
    """The choices of a person. The defaults are the page as it is for everybody."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    raised: tuple[Site, ...] = ()
    lowered: tuple[Site, ...] = ()
    hidden: tuple[Site, ...] = ()
    language: Annotated[str, Field(max_length=20)] = ""
    """The language that is searched if none is chosen; empty: as the operator wants."""
    page_language: Annotated[str, Field(max_length=20)] = ""
    """The language of the pages themselves; empty: as the browser wants."""
    theme: Literal["", "light", "dark"] = ""
    """Empty: as the browser wants."""
    per_page: Literal[10, 20, 50] = 10
    hide_adult: bool = False
    keys: bool = True
    """Letters move through the results, where the page has its script."""

    @field_validator("raised", "lowered", "hidden")
    @classmethod
    def _sites_are_hosts(cls, sites: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(read_site(site) for site in sites))

    @field_validator("language")
    @classmethod
    def _language_is_a_tag(cls, language: str) -> str:
        try:
            return normalize_language(language)
        except InvalidQuery as error:
            raise ValueError(f"{error.detail} {error.hint}") from None

    @field_validator("page_language")
    @classmethod
    def _page_language_is_known(cls, tag: str) -> str:
        if tag and tag not in languages().values():
            raise ValueError(_NO_PAGES)
        return tag

    @model_validator(mode="after")
    def _fit_a_cookie(self) -> Self:
        sites = [*self.raised, *self.lowered, *self.hidden]
        if len(set(sites)) < len(sites):
            raise ValueError(message("A site can be in one list only."))
        if len(sites) > MAX_SITES or sum(map(len, sites)) > MAX_SITE_CHARS:
            raise ValueError(_TOO_MANY)
        return self

    def with_site(self, site: str, rule: str) -> Self:
        """Return the preferences with this rule for the site; without a rule if `rule` is empty."""
        host = read_site(site)
        lists = {name: [one for one in getattr(self, name) if one != host] for name in RULES}
        if rule:
            lists[rule].append(host)
        return self.changed(**{name: tuple(sites) for name, sites in lists.items()})

    def rule_of(self, site: str) -> str:
        """Return the rule that the person has set for exactly this site; empty if there is none."""
        host = read_site(site)
        return next((name for name in RULES if host in getattr(self, name)), "")

    def changed(self, **values: object) -> Self:
        """Return checked preferences with these values. Raises InvalidPreferences."""
        try:
            return self.model_validate({**self.model_dump(), **values})
        except ValidationError as error:
            raise InvalidPreferences(_sentence(error)) from None

    def rules(self) -> PersonalRules:
        """Return the rules for the results."""
        return PersonalRules(frozenset(self.raised), frozenset(self.lowered), frozenset(self.hidden), self.hide_adult)

    def to_json(self) -> str:
        """Return what differs from the defaults, as JSON."""
        return self.model_dump_json(exclude_defaults=True)

    def to_link(self) -> str:
        """Return the preferences as a value of a link."""
        return urlsafe_b64encode(self.to_json().encode()).rstrip(b"=").decode()


def read_site(site: str) -> str:
    """Return the host of a site as the index has it. Raises InvalidPreferences."""
    text = site.strip().lower().removeprefix("https://").removeprefix("http://").partition("/")[0]
    host = ascii_host(text.removeprefix("*."))
    if not host:
        text = site.strip()[:60]
        raise InvalidPreferences(message("“%(site)s” is not a site. Write one like sqlite.org.", site=text))
    return host


def read_sites(text: str) -> tuple[str, ...]:
    """Return the sites of a field: one on each line, or with commas between them."""
    return tuple(site for line in text.splitlines() for part in line.split(",") if (site := part.strip()))


def read_fields(form: Mapping[str, str]) -> tuple[Preferences, list[str]]:
    """Return the preferences of the form of all fields, and a sentence for each value that is left out as wrong."""
    lists: dict[str, str] = {}
    faults: list[str] = []
    for name in RULES:
        for site in read_sites(form.get(name, "")):
            try:
                host = read_site(site)
            except ValueError as error:
                faults.append(error.args[0])
                continue
            if lists.setdefault(host, name) != name:
                faults.append(message("%(site)s can be in one list only.", site=host))
    if len(fitting := _first_that_fit(lists)) < len(lists):
        faults.append(_TOO_MANY)
    kept = Preferences()
    per_page = form.get("per_page", "10")
    for values in (
        {name: tuple(host for host in fitting if lists[host] == name) for name in RULES},
        {"language": form.get("language", "")},
        {"page_language": form.get("page_language", "")},
        {"theme": form.get("theme", "")},
        {"per_page": int(per_page) if per_page.isascii() and per_page.isdigit() else per_page},
        {"hide_adult": form.get("hide_adult") == "yes", "keys": form.get("keys") != "no"},
    ):
        try:
            kept = kept.changed(**values)
        except InvalidPreferences as error:
            faults.append(error.args[0])
    return kept, faults


def _first_that_fit(sites: Collection[str]) -> list[str]:
    """Return the first sites that a cookie has room for."""
    return [site for site, chars in zip(sites, accumulate(map(len, sites)), strict=True) if chars <= MAX_SITE_CHARS][
        :MAX_SITES
    ]


def read_json(text: str) -> Preferences:
    """Return the preferences of a file. Raises InvalidPreferences."""
    try:
        return Preferences.model_validate_json(text)
    except ValidationError as error:
        raise InvalidPreferences(_sentence(error)) from None


def read_link(value: str) -> Preferences:
    """Return the preferences of a link. Raises InvalidPreferences."""
    try:
        text = urlsafe_b64decode(value.encode("ascii") + b"=" * (-len(value) % 4)).decode()
    except ValueError:
        raise InvalidPreferences(message("The link is damaged.")) from None
    return read_json(text)


def _sentence(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    if fault["type"] == "value_error":
        return fault["ctx"]["error"].args[0]  # type: ignore[no-any-return]  # a sentence of this module
    place = ".".join(map(str, fault["loc"])) or message("The file")
    return message("%(place)s: %(fault)s.", place=place, fault=fault["msg"])
