"""Every setting, with its default and unit, in one frozen object that is read once.

Environment variables are the fields' names in upper case behind `RIFFLE_` (nested ones with `__`:
`RIFFLE_CRAWL__DELAY_SECONDS`). `riffle up` writes the local stack's addresses to `.riffle/stack.json`; they are
the defaults of the local profile, and the environment overrides them.
"""

import json
import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from streams.errors import UsageError


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class KafkaSettings(_Group):
    bootstrap: str = "localhost:9092"
    """HOST:PORT of some brokers, with commas between them."""
    partitions: int = Field(8, ge=1)
    """Of each topic, when it is created. Production: at least the number of workers that a stage may ever have."""
    replication: int = Field(1, ge=1)
    """Of each topic, when it is created. Production: 3."""
    security_protocol: Literal["PLAINTEXT", "SSL"] = "PLAINTEXT"
    """SSL: encrypted, with the certificates below."""
    ca_file: Path | None = None
    """PEM: who signed the brokers' certificates."""
    cert_file: Path | None = None
    """PEM: our own certificate, when the brokers ask for one."""
    key_file: Path | None = None
    """PEM: the key of our own certificate."""


class CassandraSettings(_Group):
    hosts: tuple[str, ...] = ("127.0.0.1",)
    """Some nodes to begin with; the others are learned from them."""
    port: int = 9042
    """Of all nodes."""
    keyspace: str = "riffle"
    """Made if it is missing."""
    datacenter: str = "datacenter1"
    """The one that is asked, and that the keyspace is replicated in."""
    replication: int = Field(1, ge=1)
    """Of the keyspace, when it is made. Production: 3."""
    username: str = ""
    """Empty: without authentication."""
    password: SecretStr = SecretStr("")
    """Of that user."""
    ca_file: Path | None = None
    """PEM: who signed the nodes' certificates. With it, connections are encrypted."""
    request_timeout_seconds: float = 10.0
    """For one statement; after it, the store counts as unavailable."""
    simhash_tables: Literal[4, 10, 20] = 4
    """Of fingerprints: 4 up to some tens of millions of pages, 10 up to a billion, 20 beyond. Part of their keys."""


class QdrantSettings(_Group):
    url: str = "http://127.0.0.1:6333"
    """REST address of the cluster."""
    api_key: SecretStr = SecretStr("")
    """Empty: without authentication."""
    shards: int = Field(1, ge=1)
    """Of a new collection. When it is not set: 1, and 64 in the production profile."""
    replication: int = Field(1, ge=1)
    """Of a new collection. Production: 2 or more."""
    timeout_seconds: float = 10.0
    """For one request."""


class TritonSettings(_Group):
    url: str = "127.0.0.1:8001"
    """gRPC address; `inprocess:` runs the same model files inside the process."""
    model: str = "sbert"
    """Name of the embedding model in the model repository."""
    timeout_seconds: float = 30.0
    """For one batch."""
    batch_size: int = Field(32, ge=1)
    """Texts in one request."""


class CrawlSettings(_Group):
    user_agent: str = "RiffleBot/0.1 (+https://github.com/riffle-search/riffle; crawler)"
    """What servers and their robots.txt see."""
    contact_url: str = ""
    """A page that says who crawls and how to reach them. Required in production; it goes into the user agent."""
    delay_seconds: float = Field(1.0, ge=0)
    """Between two fetches of one host, when its robots.txt says nothing."""
    host_concurrency: int = Field(1, ge=1)
    """Fetches of one host at once."""
    max_depth: int = Field(16, ge=0)
    """Hops from the seed, when the crawl says nothing."""
    max_pages_per_host: int = Field(100_000, ge=1)
    """Of one crawl, when it says nothing."""
    max_body_bytes: int = 10 * 1024 * 1024
    """Of an answer, decompressed; what is larger is refused."""
    max_header_bytes: int = 64 * 1024
    """Of an answer's headers together."""
    timeout_seconds: float = 30.0
    """For one answer, from the connection to the last byte."""
    min_bytes_per_second: int = 500
    """Slower answers are given up."""
    lease_seconds: float = 120.0
    """After which a scheduled URL without an answer is scheduled again."""
    max_attempts: int = Field(5, ge=1)
    """Of one URL, when fetching fails in a way that may pass."""
    robots_ttl_seconds: float = 86_400.0
    """RFC 9309 section 2.4: not longer than 24 hours."""
    in_flight: int = Field(64, ge=1)
    """URLs scheduled and not yet answered, per frontier worker."""
    local_hosts: dict[str, str] = Field(default_factory=dict)
    """HOST -> ADDRESS:PORT: hosts of `riffle web serve`, reached on loopback. Refused in production."""
    local_ca_file: Path | None = None
    """PEM: who signed the certificates of `local_hosts`. Refused in production."""


class RuntimeSettings(_Group):
    retries_in_place: int = Field(3, ge=0)
    """When a store fails, before the event goes to the retry topic."""
    retry_backoff_seconds: float = 0.2
    """Before the first retry in place; doubled with each."""
    retry_topic_attempts: int = Field(5, ge=0)
    """Times through the retry topic, before the event is a dead letter."""
    retry_topic_delay_seconds: float = 5.0
    """Before the first of them; doubled with each."""
    commit_interval_seconds: float = 0.5
    """Between two commits of offsets: what a crash repeats."""
    stall_seconds: float = 120.0
    """Not healthy when events wait, or the worker for its partitions, and nothing got on for so long."""
    session_timeout_seconds: float = 10.0
    """A worker that doesn't answer for so long loses its partitions to the others."""
    instance: str = ""
    """This worker's name among those of its stage, for static membership: a pod's ordinal. Empty: none."""
    grace_seconds: float = 20.0
    """At a stop, how long events in progress may take to finish."""
    health_host: str = "127.0.0.1"
    """Address that /healthz, /readyz and /metrics listen on."""
    health_port: int = 0
    """Of /healthz, /readyz and /metrics. 0: any free port (printed, and written to the state folder)."""


_Primary = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}$", to_lower=True)]


class GatewaySettings(_Group):
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8080
    """Port to listen on."""
    deadline_seconds: float = 2.0
    """For a search: what has not answered by then is left out of it."""
    max_query_chars: int = 2_000
    """Longer queries are refused."""
    languages: tuple[_Primary, ...] = ()
    """Searched when a request names none: BCP 47 primary tags (`und`: those of no known language). Empty: all."""


class Settings(BaseSettings):
    """All settings. `Settings.load()` reads them; nothing else reads the environment."""

    model_config = SettingsConfigDict(
        env_prefix="RIFFLE_", env_nested_delimiter="__", frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    profile: Literal["local", "production"] = "local"
    """`production` reads no `stack.json`, and refuses settings that are for one machine."""
    home: Path = Path(".riffle")
    """Data, logs and state of the local stack."""
    model_repository: Path | None = None
    """None: the one that the package carries, or `triton_models` of the checkout."""
    local_web: Path | None = None
    """A folder DIR/HOST/path that the local stack serves over HTTPS, and whose hosts the crawler finds on loopback."""
    otlp_endpoint: str = ""
    """Where traces are sent (OTLP over HTTP). Empty: nowhere."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """What is logged at least."""
    log_json: bool = False
    """Log JSON for machines instead of lines for people."""

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
