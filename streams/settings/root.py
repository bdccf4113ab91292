"""The settings as one object, and where their values come from."""

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from streams.allowed_hosts import LOCAL_NAMES, host_of
from streams.credentials import TlsFiles
from streams.errors import UsageError
from streams.servers import NAMES
from streams.settings.crawl import CrawlSettings, RenderSettings
from streams.settings.processes import AdminSettings, RuntimeSettings
from streams.settings.search import GatewaySettings
from streams.settings.servers import CassandraSettings, KafkaSettings, QdrantSettings, TritonSettings
from streams.settings.sources import AccessSettings, AnswersSettings, KnowledgeSettings, QueriesSettings


class Settings(BaseSettings):
    """All settings. Only `Settings.load()` reads the environment."""

    model_config = SettingsConfigDict(
        env_prefix="RIFFLE_", env_nested_delimiter="__", frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    profile: Literal["local", "production"] = "local"
    """`production` ignores `stack.json` and refuses settings that are for a single machine."""
    home: Path = Path(".riffle")
    """Folder with data, logs and state of the local stack."""
    model_repository: Path | None = None
    """Folder of the models. Default: the packaged folder, or `triton_models` of the checkout."""
    local_web: Path | None = None
    """A folder DIR/HOST/path that the local stack serves over HTTPS on loopback, for the crawler."""
    local_tls: bool = False
    """The local stack's servers and gateway require certificates of the stack's own authority (`riffle up --tls`)."""
    local_triton: bool = False
    """The local stack starts Triton (`riffle up --triton`). Default: models run inside the processes that use them."""
    local_worker_per_stage: bool = False
    """The local stack starts a worker process for each stage, as a cluster does. False: one for all stages, unless
    `local_tls` gives each its own certificate."""
    otlp_endpoint: str = ""
    """Address for traces (OTLP), such as `http://collector:4318`. Empty: no traces are sent. OpenTelemetry's variables
    set the rest: `OTEL_EXPORTER_OTLP_PROTOCOL=grpc`, headers, certificates."""
    trace_share: float = Field(1.0, ge=0, le=1)
    """The share of requests and seeds that are traced, with all events that follow."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Minimum level of log lines."""
    log_json: bool = False
    """Write log lines as JSON instead of text."""

    kafka: KafkaSettings = KafkaSettings()
    cassandra: CassandraSettings = CassandraSettings()
    qdrant: QdrantSettings = QdrantSettings()
    triton: TritonSettings = TritonSettings()
    crawl: CrawlSettings = CrawlSettings()
    render: RenderSettings = RenderSettings()
    runtime: RuntimeSettings = RuntimeSettings()
    gateway: GatewaySettings = GatewaySettings()
    queries: QueriesSettings = QueriesSettings()
    access: AccessSettings = AccessSettings()
    admin: AdminSettings = AdminSettings()
    answers: AnswersSettings = AnswersSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()

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
    def load(cls, *, home: Path | None = None, **overrides: Any) -> Self:
        """Return the settings from the environment, then `overrides`, then the running local stack's addresses.

        The stack is in `home`, or else in the environment's RIFFLE_HOME.
        """
        folder = home or Path(os.environ.get("RIFFLE_HOME", ".riffle"))
        stack = {} if os.environ.get("RIFFLE_PROFILE") == "production" else read_stack_file(folder)
        loaded = cls(**merge_mappings(stack, overrides))
        return loaded.model_copy(update={"home": home}) if home else loaded

    @model_validator(mode="after")
    def _certificates_are_complete(self) -> Self:
        for name in (*NAMES, "gateway"):
            group = getattr(self, name)
            if name == "triton" and self.triton.is_openai:  # its key is an API key
                if group.cert_file:
                    raise ValueError("triton.url is openai+, whose servers take an API key and no triton.cert_file")
                continue
            if (group.cert_file is None) != (group.key_file is None):
                raise ValueError(f"{name}.cert_file and {name}.key_file belong together: set both, or none")
        if not self.kafka.is_encrypted and (self.kafka.ca_file or self.kafka.cert_file):
            raise ValueError(
                f"kafka.security_protocol is {self.kafka.security_protocol}, so the certificates of kafka.ca_file and "
                "kafka.cert_file would not be used. Set RIFFLE_KAFKA__SECURITY_PROTOCOL=SSL, or SASL_SSL"
            )
        if self.qdrant.url.startswith("http:") and (self.qdrant.ca_file or self.qdrant.cert_file):
            raise ValueError(
                "qdrant.url is http, so the certificates of qdrant.ca_file and qdrant.cert_file would not be used. "
                "Set RIFFLE_QDRANT__URL to an https address"
            )
        for name in ("cassandra", "triton"):
            group = getattr(self, name)
            if group.cert_file and not group.ca_file:
                raise ValueError(f"{name}.cert_file is set without {name}.ca_file: connections would not be encrypted")
        if self.gateway.client_ca_file and not self.gateway.cert_file:
            raise ValueError("gateway.client_ca_file is set without gateway.cert_file: the gateway would serve HTTP")
        return self

    @model_validator(mode="after")
    def _production_is_strict(self) -> Self:
        if self.profile != "production":
            return self
        own = self.crawl
        if own.local_hosts or own.local_ca_file or own.allow_loopback or self.local_web:
            raise ValueError(
                "local_web, crawl.local_hosts, crawl.local_ca_file and crawl.allow_loopback lead to loopback; "
                "the production profile refuses them"
            )
        if self.kafka.security_protocol == "SASL_PLAINTEXT":
            raise ValueError(
                "kafka.security_protocol is SASL_PLAINTEXT, which sends passwords unencrypted. "
                "Set RIFFLE_KAFKA__SECURITY_PROTOCOL=SASL_SSL"
            )
        if self.gateway.publish_clicks and not self.gateway.keys:
            raise ValueError(
                "gateway.publish_clicks is set without gateway.keys, which seal the links to results. "
                "Set RIFFLE_GATEWAY__KEYS to a list with one secret of 32 characters or more"
            )
        if self.queries.collect and not self.gateway.keys:
            raise ValueError(
                "queries.collect is set without gateway.keys, from which the hashes of people are made. "
                "Set RIFFLE_GATEWAY__KEYS to a list with one secret of 32 characters or more"
            )
        if not self.crawl.contact_url:
            raise ValueError(
                "crawl.contact_url is empty: a crawler must identify its operator. "
                "Set RIFFLE_CRAWL__CONTACT_URL to a page with your contact"
            )
        return self

    @property
    def gateway_client(self) -> TlsFiles:
        """The files with which commands ask the gateway. An operator has one certificate, for Kafka and the gateway."""
        return TlsFiles(self.gateway.ca_file, self.kafka.cert_file, self.kafka.key_file)

    @property
    def gateway_hosts(self) -> frozenset[str]:
        """The names by which clients may ask the gateway. Empty: any name."""
        own = self.gateway
        named = own.allowed_hosts or tuple(filter(None, [host_of(own.public_url)]))
        return frozenset({*LOCAL_NAMES, own.host, *named}) if named or self.profile == "local" else frozenset()

    @cached_property
    def models_path(self) -> Path:
        """The folder of the models."""
        here = Path(__file__).resolve().parents[1]
        packaged = here / "_models"
        return self.model_repository or (packaged if packaged.is_dir() else here.parent / "triton_models")


def stack_file(home: Path) -> Path:
    """Return the path of the local stack's state file."""
    return home / "stack.json"


def read_stack_file(home: Path) -> dict[str, Any]:
    """Return the settings in the running local stack's state file. Without a file they are empty. Raises UsageError."""
    try:
        content = json.loads(stack_file(home).read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{stack_file(home)} can't be read ({error}). Remove it and run `riffle up` again") from error
    settings: dict[str, Any] = content.get("settings", {})
    return settings


def merge_mappings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with its values replaced by those in `over`, at every depth."""
    found = dict(base)
    for name, value in over.items():
        below = found.get(name)
        found[name] = merge_mappings(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found
