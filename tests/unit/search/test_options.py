"""The options of a search: every setting reaches the searchers of the gateway and of the evaluation."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from benchmarks.evaluation.search import DEADLINE_SECONDS, searcher_over
from streams.search.options import SearchOptions
from streams.search.ranking.signals import SIGNALS
from streams.settings import GatewaySettings, SearchSettings, Settings, TritonSettings
from streams.stores.opener import Stores
from tests.stages.gateway_fakes import gateway

ROOT = Path(__file__).parents[3]
FIELDS = tuple(SearchSettings.model_fields)
OTHERS: dict[str, Any] = {
    "languages": ("de",),
    "block_lists": (Path("hosts.txt"),),
    "min_confidence": 0.4,
    "model_languages": ("de",),
}
"""Other values for the settings whose defaults are no numbers."""


def changed(settings: BaseModel, name: str) -> Any:
    """Return a valid value of a setting that is not its default."""
    default = getattr(settings, name)
    if isinstance(default, bool):
        return not default
    if isinstance(default, float):
        return default / 2 or 0.5  # a weight that is off by default
    return OTHERS[name] if name in OTHERS else type(default)(default + 1)


def settings_with(**values: Any) -> Settings:
    return Settings(gateway=GatewaySettings(**values))


@pytest.mark.parametrize("name", FIELDS)
def test_the_gateway_searches_with_each_setting(name: str) -> None:
    value = changed(SearchSettings(), name)
    limits = {name: value}
    named = {given: limits.pop(given) for given in ("deadline_seconds", "languages") if given in limits}
    options = gateway(Stores(), limits=limits, **named).state.gateway.search.searcher.options
    assert getattr(options, name) == value != getattr(SearchOptions(), name)


@pytest.mark.parametrize("name", FIELDS)
def test_the_evaluation_searches_with_each_setting(name: str) -> None:
    value = changed(SearchSettings(), name)
    options = searcher_over(Stores(), settings_with(**{name: value})).options
    # Nobody waits for its answers.
    assert getattr(options, name) == (DEADLINE_SECONDS if name == "deadline_seconds" else value)


@pytest.mark.parametrize(("model", "rerank"), [("", False), ("rerank", True)])
def test_both_ask_the_cross_encoder_where_there_is_one(model: str, rerank: bool) -> None:
    settings = Settings(triton=TritonSettings(rerank_model=model))
    assert SearchOptions.of(settings).rerank == searcher_over(Stores(), settings).options.rerank == rerank


def test_every_option_is_read() -> None:
    """An option that only exists changes nothing."""
    folders = (ROOT / "streams/search", ROOT / "streams/gateway/search")
    source = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.py"))
    read = set(re.findall(r"\boptions\.(\w+)", source)) | {signal.coefficient for signal in SIGNALS}
    assert set(SearchOptions.model_fields) <= read
