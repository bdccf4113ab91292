"""A page of a Wikipedia becomes a part of an entity, an alias, a choice, or nothing. Pure.

page                       becomes
article                    a part with summary, names and links
redirect                   an alias of its target
disambiguation page        a choice
list, other namespace      nothing
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from streams.knowledge.entity import MAX_LINKS, MAX_NAME_CHARS, MAX_OPTIONS, MAX_SUMMARY_CHARS, Option, Part
from streams.knowledge.wikipedia.wikitext import Lead, ListedMeaning, is_namespace, read_lead, read_meanings, summarize
from streams.knowledge.wikipedia.xml_page import XmlPage

LICENCE = "CC BY-SA 4.0"
_DISAMBIGUATION = re.compile(
    r"\{\{\s*(?:disambig(?:uation)?(?: page)?|dab|hndis|geodis|disambiguation cleanup|human name disambiguation|"
    r"mathematical disambiguation|place name disambiguation|school disambiguation|airport disambiguation|"
    r"letter-?numbercombdisambig|surname|given name|begriffsklärung|homonymie|desambiguación|disambigua|dp)"
    r"\s*(?:\||\}\})",
    re.IGNORECASE,
)
_LIST_TITLE = re.compile(
    r"(?:Lists? of|Index of .*articles$|Outline of|Timeline of|Glossary of|Liste (?:der|von|des)|Anexo:) ?.*"
)
_IS_WORK = re.compile(r"(?:.* )?(?:film|album|song|novel|book|play|opera|painting|band|magazine|podcast|series|game)")
"""Qualifiers of the titles of works, whatever these begin with: `Timeline of Earth (film)`."""
MAX_BOLD_NAMES = 8
MAX_LOST = 50
"""Maximum names of templates of an article that are counted."""


@dataclass(frozen=True, slots=True)
class Article:
    """A page of the wiki, as it was understood. `alias_of`: the article that it leads to, then there is no part."""

    entity_id: str
    page_id: int
    part: Part | None = None
    alias_of: str = ""
    alias: str = ""
    lost: tuple[str, ...] = ()
    """Names of the templates without which a sentence was left out."""


def to_article(page: XmlPage, site: str, language: str) -> Article | None:
    """Return what a page becomes, or None. `site`: the wiki's id, such as `enwiki`."""
    title = page.title
    if page.namespace != 0 or page.model != "wikitext" or not 0 < len(title) <= MAX_NAME_CHARS:
        return None
    identity = article_id(site, title)
    if page.redirect:
        if len(page.redirect) > MAX_NAME_CHARS or _leads_elsewhere(page.redirect):
            return None
        return Article(identity, page.page_id, alias_of=article_id(site, page.redirect), alias=title)
    if is_disambiguation(page):
        part = _choice(page, site)
    elif _LIST_TITLE.fullmatch(title) and not _IS_WORK.fullmatch(base_of(title)[1]):
        return None
    else:
        lead = read_lead(page.text)
        part = _article_part(page, lead, site, language)
        return Article(identity, page.page_id, part, lost=tuple(sorted(lead.lost)[:MAX_LOST])) if part else None
    return Article(identity, page.page_id, part) if part else None


def _leads_elsewhere(target: str) -> bool:
    namespace, mark, rest = target.partition(":")
    return bool(mark) and is_namespace(namespace, rest)


def article_id(site: str, title: str) -> str:
    return f"{site}:{title}"


def base_of(title: str) -> tuple[str, str]:
    """Return a title without its qualifier, and the qualifier: `Rust`, `programming language`."""
    base, mark, qualifier = title.rpartition(" (")
    return (base, qualifier[:-1]) if mark and base and qualifier.endswith(")") else (title, "")


def is_disambiguation(page: XmlPage) -> bool:
    """Return whether a page lists the meanings of a name. A template for it stands at the page's end."""
    return base_of(page.title)[1].lower() in ("disambiguation", "begriffsklärung", "homonymie") or bool(
        _DISAMBIGUATION.search(page.text, max(0, len(page.text) - 1_500))
    )


def address_of(title: str, language: str) -> str:
    return f"https://{language}.wikipedia.org/wiki/{quote(title.replace(' ', '_'), safe='()/,:!*')}"


def _article_part(page: XmlPage, lead: Lead, site: str, language: str) -> Part | None:
    summary = summarize(lead.text, MAX_SUMMARY_CHARS)
    if not summary:
        return None
    base, qualifier = base_of(page.title)
    bold = [name for name in lead.bold[:MAX_BOLD_NAMES] if _may_be_name(name)]
    return Part(
        label=base,
        description=lead.description or qualifier,
        type=qualifier,
        summary=summary,
        aliases=tuple(dict.fromkeys([page.title, *bold])),
        links=tuple(article_id(site, title) for title in _important(lead.links, page.title)),
        url=address_of(page.title, language),
        licence=LICENCE,
    )


def _may_be_name(text: str) -> bool:
    return len(text) <= 80 and "\n" not in text and not text.endswith((".", ":")) and any(c.isalpha() for c in text)


def _important(links: Sequence[str], own: str) -> list[str]:
    unique = dict.fromkeys(title for title in links if title != own and len(title) <= MAX_NAME_CHARS)
    return [title for title in unique if not title[:1].isdigit()][:MAX_LINKS]


def _choice(page: XmlPage, site: str) -> Part | None:
    base = base_of(page.title)[0]
    primary = [base] if base != page.title else []
    meanings = [ListedMeaning(title, "") for title in primary] + read_meanings(page.text)
    options = {one.title: one for one in reversed(meanings)}
    ordered = [options[title] for title in dict.fromkeys(one.title for one in meanings)][:MAX_OPTIONS]
    if not ordered:
        return None
    return Part(
        kind="choice",
        label=base,
        aliases=(page.title,),
        options=tuple(
            Option(title=one.title[:MAX_NAME_CHARS], description=one.words, entity_id=article_id(site, one.title))
            for one in ordered
        ),
        licence=LICENCE,
    )
