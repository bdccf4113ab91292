"""Every setting, with its default and unit, in one frozen object that is read once.

Environment variables are the fields' names in upper case behind `RIFFLE_` (nested ones with `__`:
`RIFFLE_CRAWL__DELAY_SECONDS`). `riffle up` writes the local stack's addresses to `.riffle/stack.json`; they are
the defaults of the local profile, and the environment overrides them.
"""

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from streams.errors import UsageError


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class KafkaSettings(_Group):
    bootstrap: str = "localhost:9092"
    partitions: int = Field(8, ge=1)
    """Of each topic, when it is created. Production: at least the number of workers that a stage may ever have."""
    replication: int = Field(1, ge=1)
    security_protocol: Literal["PLAINTEXT", "SSL"] = "PLAINTEXT"
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None


class CassandraSettings(_Group):
    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 9042
    keyspace: str = "riffle"
    datacenter: str = "datacenter1"
    replication: int = Field(1, ge=1)
    username: str = ""
    password: SecretStr = SecretStr("")
    ca_file: Path | None = None
    request_timeout_seconds: float = 10.0
    simhash_tables: Literal[4, 10, 20] = 4
    """Of fingerprints: 4 up to some tens of millions of pages, 10 up to a billion, 20 beyond. Part of their keys."""


class QdrantSettings(_Group):
    url: str = "http://127.0.0.1:6333"
    api_key: SecretStr = SecretStr("")
    shards: int = Field(1, ge=1)
    """Of a new collection. Production default is 64 (see `Settings.shards`)."""
    replication: int = Field(1, ge=1)
    timeout_seconds: float = 10.0


class TritonSettings(_Group):
    url: str = "127.0.0.1:8001"
    """gRPC address; `inprocess:` runs the same model files inside the process."""
    model: str = "sbert"
    timeout_seconds: float = 30.0
    batch_size: int = Field(32, ge=1)


class CrawlSettings(_Group):
    user_agent: str = "RiffleBot/0.1 (+https://github.com/riffle-search/riffle; crawler)"
    contact_url: str = ""
    """A page that says who crawls and how to reach them. Required in production; it goes into the user agent."""
    delay_seconds: float = Field(1.0, ge=0)
    """Between two fetches of one host, when its robots.txt says nothing."""
    host_concurrency: int = Field(1, ge=1)
    max_depth: int = Field(16, ge=0)
    max_pages_per_host: int = Field(100_000, ge=1)
    max_body_bytes: int = 10 * 1024 * 1024
    max_header_bytes: int = 64 * 1024
    timeout_seconds: float = 30.0
    min_bytes_per_second: int = 500
    lease_seconds: float = 120.0
    max_attempts: int = Field(5, ge=1)
    robots_ttl_seconds: float = 86_400.0
    """RFC 9309 section 2.4: not longer than 24 hours."""
    in_flight: int = Field(64, ge=1)
    """URLs scheduled and not yet answered, per frontier worker."""
    local_hosts: dict[str, str] = Field(default_factory=dict)
    """HOST -> ADDRESS:PORT: hosts of `riffle web serve`, reached on loopback. Refused in production."""
    local_ca_file: Path | None = None


class RuntimeSettings(_Group):
    retries_in_place: int = Field(3, ge=0)
    retry_backoff_seconds: float = 0.2
    retry_topic_attempts: int = Field(5, ge=0)
    retry_topic_delay_seconds: float = 5.0
    commit_interval_seconds: float = 0.5
    stall_seconds: float = 120.0
    """Not healthy when events wait and none was finished or committed for so long."""
    session_timeout_seconds: float = 10.0
    """A worker that doesn't answer for so long loses its partitions to the others."""
    instance: str = ""
    """This worker's name among those of its stage, for static membership: a pod's ordinal. Empty: none."""
    grace_seconds: float = 20.0
    """At a stop, how long events in progress may take to finish."""
    health_host: str = "127.0.0.1"
    health_port: int = 0
    """Of /healthz, /readyz and /metrics. 0: any free port (printed, and written to the state folder)."""


class GatewaySettings(_Group):
    host: str = "127.0.0.1"
    port: int = 8080
    deadline_seconds: float = 2.0
    max_query_chars: int = 2_000


class Settings(BaseSettings):
    """All settings. `Settings.load()` reads them; nothing else reads the environment."""

    model_config = SettingsConfigDict(
        env_prefix="RIFFLE_", env_nested_delimiter="__", frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    profile: Literal["local", "production"] = "local"
    home: Path = Path(".riffle")
    """Data, logs and state of the local stack."""
    model_repository: Path | None = None
    """None: the one that the package carries, or `triton_models` of the checkout."""
    local_web: Path | None = None
    """A folder DIR/HOST/path that the local stack serves over HTTPS, and whose hosts the crawler finds on loopback."""
    otlp_endpoint: str = ""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_json: bool = False

    kafka: KafkaSettings = KafkaSettings()
    cassandra: CassandraSettings = CassandraSettings()
    qdrant: QdrantSettings = QdrantSettings()
    triton: TritonSettings = TritonSettings()
    crawl: CrawlSettings = CrawlSettings()
    runtime: RuntimeSettings = RuntimeSettings()
    gateway: GatewaySettings = GatewaySettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (env_settings, init_settings)

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read the environment over `overrides` over the running local stack's addresses over the defaults."""
        home = Path(os.environ.get("RIFFLE_HOME", overrides.get("home", ".riffle")))
        stack = {} if os.environ.get("RIFFLE_PROFILE") == "production" else read_stack_file(home)
        return cls(**_merged(stack, overrides))

    @model_validator(mode="after")
    def _production_is_strict(self) -> Self:
        if self.profile != "production":
            return self
        if self.crawl.local_hosts or self.crawl.local_ca_file or self.local_web:
            raise ValueError(
                "local_web, crawl.local_hosts and crawl.local_ca_file map hosts to loopback; "
                "the production profile refuses them"
            )
        if not self.crawl.contact_url:
            raise ValueError(
                "crawl.contact_url is empty: a crawler says who it is. "
                "Set RIFFLE_CRAWL__CONTACT_URL to a page with your contact"
            )
        return self

    @cached_property
    def models_path(self) -> Path:
        here = Path(__file__).resolve().parent
        packaged = here / "_models"
        return self.model_repository or (packaged if packaged.is_dir() else here.parent / "triton_models")


def stack_file(home: Path) -> Path:
    return home / "stack.json"


def read_stack_file(home: Path) -> dict[str, Any]:
    """The `settings` part of the running local stack's state, or nothing when none runs."""
    try:
        content = json.loads(stack_file(home).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{stack_file(home)} can't be read ({error}). Remove it and run `riffle up` again") from error
    settings: dict[str, Any] = content.get("settings", {})
    return settings


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in over.items():
        below = merged.get(name)
        merged[name] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
