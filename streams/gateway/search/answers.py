"""The API's answer to a search, made from what the search found."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from schemas.envelope import utc_from_micros
from streams.gateway.http import presentation
from streams.gateway.http.highlighting import highlights, query_words
from streams.gateway.search.answer_model import (
    Explanation,
    FacetValue,
    Facts,
    Reason,
    Result,
    SearchAnswer,
    Similar,
    SimilarPage,
    SitePage,
    Statement,
    Version,
    WrittenOperator,
)
from streams.gateway.search.signals import SignalFacts, describe_signals
from streams.pages.document.consent import Consent, consent_of
from streams.pages.text.language import primary
from streams.queries.quick.checks import FoundStatement
from streams.search.core import Beside
from streams.search.extras import MAX_SIMILAR
from streams.search.searcher import Found
from streams.stores.page_record import Normalized
from streams.stores.protocols import Hit, PageHits

MAX_SITE_PAGES = 6
"""Maximum links to pages of a site that the query names."""
MAX_VERSIONS = 12
"""Maximum versions in other languages that a result names."""
MAX_FACET_VALUES = 8
"""Maximum values of a facet."""


def to_search_answer(found: Found) -> SearchAnswer:
    request, trace = found.request, found.trace
    words = query_words(f"{found.text or request.text} {found.synonyms}".rstrip())
    return SearchAnswer(
        query=request.text,
        text=found.text,
        operators=tuple(
            WrittenOperator(name=each.operator.name, text=each.text, value=each.value, query_without=each.query_without)
            for each in found.operators
        ),
        languages=request.languages,
        page=request.page,
        per_page=request.per_page,
        has_next=found.has_next,
        next=found.next or None,
        results=tuple(to_result(page, words, found, is_first=number == 0) for number, page in enumerate(found.pages)),
        nearest_only=found.notes.nearest_only,
        missing=found.missing,
        facets=to_facets(found.notes.facets),
        partial=bool(found.failed),
        reasons=tuple(Reason(part=part, detail=detail) for part, detail in trace.reasons.items()),
        took_ms=found.took_ms,
        explain=to_explanation(found) if request.explain else None,
    )


def similar_of(page: PageHits, found: Found) -> list[SimilarPage]:
    """Return the page's duplicates, and the results left out as its near-duplicates, each once."""
    known = [SimilarPage(page_id=one.page_id, url=one.url) for one in (found.similar or {}).get(page.page_id, ())]
    near = [
        SimilarPage(page_id=one.page_id, url=one.hits[0].payload.url) for one in found.left_out.get(page.page_id, ())
    ]
    in_others = {one.page_id for one in _versions_of(page, found)}
    return list({one.page_id: one for one in (*known, *near) if one.page_id not in in_others}.values())


def _versions_of(page: PageHits, found: Found) -> list[PageHits]:
    """Return the page's versions in other languages. A copy has the language of the page."""
    own = primary(page.hits[0].payload.language)
    return [one for one in found.left_out.get(page.page_id, ()) if primary(one.hits[0].payload.language) != own]


def to_versions(page: PageHits, found: Found) -> tuple[Version, ...]:
    """Return the page's versions in other languages, each language once: those that were found come first."""
    payloads = (one.hits[0].payload for one in _versions_of(page, found))
    named = [*((one.language, one.url) for one in payloads)]
    named += [(one.language, one.url) for one in found.versions.get(page.page_id, ())]
    of_language: dict[str, Version] = {}
    for language, url in named:
        of_language.setdefault(primary(language), Version(language=language, url=url))
    return tuple(of_language.values())[:MAX_VERSIONS]


def add_beside(answer: SearchAnswer, beside: Beside) -> SearchAnswer:
    """Return the answer with the answers of the sources beside the results, and the reasons why sources are missing."""
    reasons = (Reason(part=name, detail=detail) for name, detail in beside.missing.items())
    values = {
        "beside": beside.found or None,
        "reasons": (*answer.reasons, *reasons),
        "partial": answer.partial or bool(beside.missing),
    }
    return answer.model_copy(update=values)


def to_result(page: PageHits, words: tuple[str, ...], found: Found, *, is_first: bool = False) -> Result:
    payload, notes = page.hits[0].payload, found.notes
    parts = notes.parts.get(page.page_id, {})
    similar, consent = similar_of(page, found), consent_of(found.facts.get(page.page_id))
    statements = limit_quotations(
        tuple(to_statement(hit, words, is_lead=place == 0) for place, hit in enumerate(page.hits)), consent
    )
    facts = SignalFacts(
        host=payload.host,
        published=presentation.date_of(payload),
        words=marked_words(statements),
    )
    return Result(
        page_id=page.page_id,
        url=payload.url,
        title=presentation.title_of(payload),
        host=payload.host,
        language=payload.language,
        published=presentation.date_of(payload) or None,
        fetched=utc_from_micros(payload.generation),
        site_name=presentation.site_name_of(found.facts.get(page.page_id), payload.host) or None,
        facts=to_facts(found.facts.get(page.page_id)),
        breadcrumbs=presentation.breadcrumbs(payload.url),
        statements=statements,
        similar=to_similar(similar) if similar else None,
        versions=to_versions(page, found),
        lacks=tuple(found.lacks.get(page.page_id, ())),
        site_pages=to_site_pages(found) if is_first else (),
        signals=describe_signals(parts, facts),
        kept_from_models=consent.kept_from_models,
        why=f"/api/v1/pages/{page.page_id}",
        score=page.score,
        nearest=notes.nearest_only or page.page_id in notes.far or None,
        parts={signal: round(part, 4) for signal, part in parts.items()} if parts and found.request.explain else None,
    )


def limit_quotations(statements: tuple[Statement, ...], consent: Consent) -> tuple[Statement, ...]:
    """Return the statements as far as the publisher lets them be quoted: with a limit, without their contexts.

    A result always has a first statement. Its text is empty where nothing may be quoted.
    """
    if consent.max_snippet is None:
        return statements
    limited = []
    for statement, text in zip(statements, consent.quote([each.text for each in statements]), strict=True):
        marks = tuple((start, end) for start, end in statement.highlights if end <= len(text.removesuffix("…")))
        changed = {"text": text, "context": (), "highlights": marks, "place": statement.place.section}
        limited.append(statement.model_copy(update=changed))
    return tuple([each for each in limited if each.text] or limited[:1])


def to_facts(record: Normalized | None) -> Facts | None:
    """Return the facts of a page's record; None if there are none. An answer that may not be quoted is left out."""
    if record is None:
        return None
    typed = {name: presentation.clean_line(value) for name, value in record.typed.items() if name in Facts.model_fields}
    if not consent_of(record).allows_quoting(len(typed.get("answer", ""))):
        del typed["answer"]
    author = presentation.clean_line(record.author or "", presentation.MAX_AUTHOR_CHARS)
    given = {"type": presentation.clean_line(record.type or "", presentation.MAX_AUTHOR_CHARS), "author": author}
    values = {name: value for name, value in (given | typed).items() if value}
    try:
        return Facts.model_validate(values) if values else None
    except ValidationError:  # the record of another release
        return None


def marked_words(statements: Sequence[Statement]) -> tuple[str, ...]:
    """Return the words of the query that the statements have, each once, in lower case."""
    marked = (each.text[start:end].lower() for each in statements for start, end in each.highlights)
    return tuple(dict.fromkeys(marked))


def to_site_pages(found: Found) -> tuple[SitePage, ...]:
    """Return the pages of the site that the query names, as far as they are no results of this page."""
    shown = {page.page_id for page in found.pages}
    others = (page.hits[0].payload for page in found.notes.site_pages if page.page_id not in shown)
    pages = [SitePage(url=each.url, title=presentation.title_of(each)) for each in others]
    return tuple({page.title: page for page in pages}.values())[:MAX_SITE_PAGES]


def to_facets(facets: Mapping[str, Mapping[str, int]]) -> dict[str, tuple[FacetValue, ...]]:
    """Return the most frequent values of each facet. Times stay in their order."""
    found = {}
    for name, counts in facets.items():
        given = [(value, count) for value, count in counts.items() if count]
        if name != "published":
            given.sort(key=lambda each: (-each[1], each[0]))
        found[name] = tuple(FacetValue(value=value, count=count) for value, count in given[:MAX_FACET_VALUES])
    return found


def to_similar(pages: Sequence[SimilarPage]) -> Similar:
    return Similar(count=min(len(pages), MAX_SIMILAR), more=len(pages) >= MAX_SIMILAR, pages=tuple(pages[:MAX_SIMILAR]))


def to_statement(hit: Hit, words: tuple[str, ...], *, is_lead: bool = False) -> Statement:
    """Return the statement as it is shown. The one that leads a result is whole."""
    language = hit.payload.language
    is_code = hit.payload.kind == "code" and "\n" in hit.payload.text.strip()
    if is_code:
        text = presentation.code_snippet(hit.payload.text, words, language=language)
    else:
        max_chars = presentation.MAX_LEAD_CHARS if is_lead else presentation.MAX_SNIPPET_CHARS
        text = presentation.snippet(hit.payload.text, words, max_chars, language=language)
    return Statement(
        id=hit.id,
        text=text,
        kind=hit.payload.kind,
        context=presentation.context_of(hit.payload),
        highlights=tuple(highlights(text, words, language)),
        score=hit.score,
        file_page=hit.payload.page or None,
        anchor=hit.payload.anchor or None,
        place=hit.payload.place,
    )


def to_explanation(found: Found) -> Explanation:
    trace = found.trace
    fused = all(trace.states.get(part) in ("ok", "cached") for part in ("dense", "sparse"))
    return Explanation(
        parts=dict(trace.states),
        timings_ms=trace.timings_ms,
        model=f"{trace.model.name}/{trace.model.version}" if trace.model else "",
        fusion="scores" if fused else "",
        meaning_weight=trace.meaning if fused else None,
        searched=found.text,
        passes=found.notes.passes,
    )


def found_statements(answer: SearchAnswer) -> Iterator[FoundStatement]:
    """Yield the statements of the results in their order, each with its page."""
    for result in answer.results:
        for statement in result.statements:
            yield FoundStatement(statement.text, result.url, result.title)
