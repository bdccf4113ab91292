"""The settings of the workers and of the operators' pages."""

from typing import Annotated

from pydantic import Field, SecretStr, StringConstraints

from streams.settings.groups import SettingsGroup


class RuntimeSettings(SettingsGroup):
    retry_topic_delay_seconds: float = 5.0
    """Delay of the first two passes through the retry topics. Each later pass waits twelve times as long."""
    event_deadline_seconds: float = Field(900.0, gt=0)
    """Maximum duration of one attempt to handle an event, or a part of a long page. Then the event goes to the retry
    topic."""
    stall_seconds: float = 120.0
    """Time without progress after which a worker is unhealthy, while events wait or it waits for its partitions."""
    session_timeout_seconds: float = 10.0
    """Time after which a silent worker loses its partitions to the others."""
    instance: str = ""
    """This worker's name among the stage's workers, for static membership: a pod's ordinal. Empty: none."""
    concurrency: int = Field(0, ge=0)
    """Maximum number of events in progress at once in a worker, per stage. 0: the stage's maximum in the topology."""
    grace_seconds: float = 20.0
    """Maximum time that events in progress may take to finish at a stop."""
    health_host: str = "127.0.0.1"
    """Address of /healthz, /readyz and /metrics."""
    health_port: int = 0
    """Port of /healthz, /readyz and /metrics. 0: any free port (logged)."""


class AdminSettings(SettingsGroup):
    """The pages of operators (`riffle admin`)."""

    key: SecretStr | None = Field(None, min_length=24)
    """The password of operators, of 24 characters or more. A proxy that signs people in sends it with their names (HTTP
    Basic). Default: a new one at each start, which `riffle admin` prints; required in production."""
    allowed_hosts: tuple[Annotated[str, StringConstraints(to_lower=True, min_length=1)], ...] = ()
    """Names by which clients ask for the pages (`Host`), without port, beside `localhost` and `host`."""
