"""The settings, stores, metrics and clock that the gateway's routes share. They are passed, never looked up."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from streams.gateway.http.metrics import Metrics
from streams.seen.stores import SeenStores
from streams.settings import Settings

Clock = Callable[[], datetime]
"""The time now, with its time zone."""


@dataclass(frozen=True, slots=True)
class GatewayContext:
    """One gateway process, as its routes see it."""

    settings: Settings
    stores: SeenStores
    metrics: Metrics
    clock: Clock
