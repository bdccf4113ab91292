"""The filters of a search as Qdrant's conditions on the payload of points."""

from collections.abc import Sequence
from dataclasses import replace

from qdrant_client import models

from streams.stores.protocols import Filters, Visible

TEXT_FIELDS = ("text", "title", "context")
"""The texts of a statement that phrases are searched for in."""


def filters_of(filters: Filters, visible: Visible) -> list[models.Filter | None]:
    """Return the filters whose points together are the wanted points.

    With a phrase, there is a filter for each text that may have it. Qdrant compares all points with the condition that
    one of three texts has a phrase, but finds the points with a phrase in one text by its index: three requests take a
    tenth of the time. The longest phrase is the one with the fewest points, as a rule.
    """
    if not filters.phrases:
        return [_filter(filters, visible)]
    longest, *others = sorted(filters.phrases, key=len, reverse=True)
    rest = _filter(replace(filters, phrases=tuple(others)), visible) or models.Filter()
    must = rest.must if isinstance(rest.must, list) else []
    return [models.Filter(must=[_phrase(key, longest), *must], must_not=rest.must_not) for key in TEXT_FIELDS]


def _filter(filters: Filters, visible: Visible) -> models.Filter | None:
    wanted = {"page_id": filters.page_id, "host": filters.host}
    must: list[models.Condition] = [equals(key, str(value)) for key, value in wanted.items() if value is not None]
    if filters.languages:
        must.append(_any_of("language", filters.languages))
    must_not: list[models.Condition] = _of_sites(visible.hidden) if visible.hidden else []
    must += [] if visible.is_all else [_of_audiences(visible.audiences)]
    # A search of a reader's own site names the same domains twice, as a rule.
    must += [models.Filter(should=_of_sites(sites)) for sites in dict.fromkeys((filters.sites, visible.only)) if sites]
    must_not += _of_sites(filters.exclude_sites) if filters.exclude_sites else []
    if filters.exclude_pages:
        must_not.append(_any_of("page_id", [str(page) for page in filters.exclude_pages]))
    must += _facts(filters)
    must_not += [condition for phrase in filters.exclude_phrases for condition in _in_any_text(phrase)]
    return models.Filter(must=must or None, must_not=must_not or None) if must or must_not else None


def _facts(filters: Filters) -> list[models.Condition]:
    """Return the conditions for words and facts of a page."""
    found: list[models.Condition] = [models.Filter(should=_in_any_text(phrase)) for phrase in filters.phrases]
    found += [_phrase("title", phrase) for phrase in filters.title_phrases]
    if filters.page_types:
        types = [models.FieldCondition(key="page_type", match=models.MatchText(text=one)) for one in filters.page_types]
        found.append(models.Filter(should=list(types)))
    if filters.extensions:
        found.append(_any_of("extension", filters.extensions))
    if filters.from_day or filters.before_day:
        days = models.Range(gte=max(filters.from_day, 1), lt=filters.before_day or None)
        found.append(models.FieldCondition(key="day", range=days))
    return found


def _in_any_text(phrase: str) -> list[models.Condition]:
    """Return three conditions. A statement that has the words in a row in one of its texts meets one of them."""
    return [_phrase(key, phrase) for key in TEXT_FIELDS]


def _phrase(key: str, phrase: str) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchPhrase(phrase=phrase))


def _of_audiences(audiences: Sequence[str]) -> models.Filter:
    """Return the condition that a point is for everybody, or for one of these audiences."""
    for_everybody = models.IsEmptyCondition(is_empty=models.PayloadField(key="audience"))
    return models.Filter(should=[for_everybody, *([_any_of("audience", audiences)] if audiences else [])])


def _of_sites(sites: Sequence[str]) -> list[models.Condition]:
    """Return two conditions. A host of these sites meets the first, and a host below them meets the second."""
    return [_any_of(key, sites) for key in ("host", "sites")]


def _any_of(key: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def equals(key: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))
