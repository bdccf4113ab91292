"""What the routes of the gateway share. It is passed to them, never looked up."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from streams.gateway.http.metrics import Metrics
from streams.settings import Settings
from streams.stores.opener import Stores

Clock = Callable[[], datetime]
"""The time now, with its time zone."""


@dataclass(frozen=True, slots=True)
class GatewayContext:
    """The settings, stores, metrics and clock of one gateway process."""

    settings: Settings
    stores: Stores
    metrics: Metrics
    clock: Clock
