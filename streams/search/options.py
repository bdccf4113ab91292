"""The options of a search. The gateway serves with them and `python -m benchmarks eval search` measures with them."""

from typing import Self

from streams.settings import SearchSettings, Settings


class SearchOptions(SearchSettings):
    """Every option of a search: the settings of the search, and options that follow from the models' settings."""

    rerank: bool = False
    """A cross-encoder scores the first results."""
    clicks: bool = False
    """Queries and clicks are collected, so pages may gain by clicks."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the options that these settings ask for."""
        of_search = {name: getattr(settings.gateway, name) for name in SearchSettings.model_fields}
        return cls(**of_search, rerank=bool(settings.triton.rerank_model), clicks=settings.queries.collect)
