"""The options of a search. The gateway serves with them and `python -m benchmarks eval search` measures with them."""

from typing import Self

from streams.settings import SearchSettings, Settings


class SearchOptions(SearchSettings):
    """Every option of a search: the settings of the search, what follows from other settings, and constants.

    The constants were measured together, with the models that Riffle brings. Only measurements and tests give other
    values. A weight is an addition to a score in standard deviations of the scores, and 0 turns it off.
    """

    rerank: bool = False
    """A cross-encoder scores the first results."""
    clicks: bool = False
    """Queries and clicks are collected, so pages may gain by clicks."""
    meaning_weight: float | None = None
    """Weight of meaning in the score of a page; words have the rest to 1. None: the embedding model's own
    (docs/decisions/0037)."""
    title_weight: float = 1.5
    """Addition for a page whose title has the words of the query, and no others (docs/decisions/0070)."""
    site_weight: float = 4.0
    """Addition for the first page of a site if the query is the site's name (docs/decisions/0070)."""
    rerank_weight: float = 0.6
    """Addition for each standard deviation of the cross-encoder's scores (docs/reference/retrieval.md)."""
    clicks_weight: float = 0.1
    """Maximum addition for a page that people open more often than its place explains, and maximum subtraction for the
    others (docs/decisions/0075)."""
    preference_weight: float = 1.0
    """Addition for a page of a raised site, and subtraction for one of a lowered site: enough to pass pages that answer
    somewhat better, not enough to bring pages up that hardly answer."""
    wish_weight: float = 0.8
    """Addition for a page of today, for each step of `prefer:recent`."""
    quality_weight: float = 0.3
    """Maximum subtraction for low quality (docs/decisions/0066)."""
    min_quality: float = 0.5
    """Quality from which on a page loses nothing. Below it, the loss grows up to the whole weight at quality 0."""
    freshness_half_life_days: float = 365.0
    """Age of a page with half the freshness of today's page (days)."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the options that these settings ask for."""
        of_search = {name: getattr(settings.gateway, name) for name in SearchSettings.model_fields}
        return cls(**of_search, rerank=bool(settings.triton.rerank_model), clicks=settings.queries.collect)
