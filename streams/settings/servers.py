"""The settings of Kafka, Cassandra, Qdrant and the model server."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from streams.credentials import FollowingSecret, current_secret
from streams.settings.groups import SettingsGroup

MIN_BLOB_TTL_DAYS = 22
"""Minimum lifetime of blobs (days). Until then, an event may refer to a blob (`streams.maintenance.sweeping`)."""


class KafkaSettings(SettingsGroup):
    bootstrap: str = "localhost:9092"
    """HOST:PORT of some brokers, separated by commas."""
    partitions: int = Field(8, ge=1)
    """Number of partitions of each new topic. Production: at least the maximum number of workers of a stage. The
    local stack has 2 by default."""
    replication: int = Field(1, ge=1)
    """Number of replicas of each new topic. Production: 3."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """SSL encrypts, with the certificates below. SASL_SSL also signs in with a user name. Production refuses
    SASL_PLAINTEXT, which sends passwords unencrypted."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM"] = "SCRAM-SHA-512"
    """The way to sign in with SASL."""
    sasl_username: str = ""
    """User name; with OAUTHBEARER the id of the client; with AWS_MSK_IAM an access key, or empty: the pod's role."""
    sasl_password_file: Path | None = None
    """File with the password; with OAUTHBEARER with the secret of the client. It is read before each sign-in."""
    sasl_token_url: str = Field("", pattern=r"^(https?://\S+)?$")
    """Address of the token server, for OAUTHBEARER (client credentials grant)."""
    sasl_scope: str = ""
    """Scope of the tokens, for OAUTHBEARER. Empty: none."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the brokers' certificates."""
    cert_file: Path | None = None
    """PEM file with the client's certificate, if the brokers require one."""
    key_file: Path | None = None
    """PEM file with the key of the client's certificate."""

    @property
    def is_encrypted(self) -> bool:
        return self.security_protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @property
    def has_tokens(self) -> bool:
        """True if clients sign in by tokens, for Kafka's own mechanism OAUTHBEARER."""
        return self.sasl_mechanism in ("OAUTHBEARER", "AWS_MSK_IAM")

    def current_password(self) -> FollowingSecret:
        """Return the password as its file has it now. Raises UsageError."""
        return FollowingSecret.of(self.sasl_password_file)

    @model_validator(mode="after")
    def _sasl_is_complete(self) -> Self:
        given = (bool(self.sasl_username), self.sasl_password_file is not None)
        by_role = self.sasl_mechanism == "AWS_MSK_IAM" and not any(given)
        if self.has_sasl and not by_role and not all(given):
            raise ValueError(f"{self.security_protocol} needs kafka.sasl_username and kafka.sasl_password_file")
        if self.has_sasl and (self.sasl_mechanism == "OAUTHBEARER") != bool(self.sasl_token_url):
            raise ValueError("kafka.sasl_token_url belongs to the mechanism OAUTHBEARER: set both, or none")
        return self


class CassandraSettings(SettingsGroup):
    hosts: tuple[str, ...] = ("127.0.0.1",)
    """Some nodes to connect to first. The client learns the other nodes from them."""
    port: int = 9042
    """Port of all nodes."""
    keyspace: str = "riffle"
    """Name of the keyspace. A missing keyspace is created."""
    datacenter: str = "datacenter1"
    """Name of the data centre. Queries go to its nodes, and the keyspace is replicated there."""
    replication: int = Field(1, ge=1)
    """Number of replicas of a new keyspace. Production: 3."""
    username: str = ""
    """User name. Empty: no authentication."""
    password_file: Path | None = None
    """File with the password. It is read before each sign-in."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the nodes' certificates. With this file, connections are encrypted."""
    cert_file: Path | None = None
    """PEM file with the client's certificate, if the nodes require one."""
    key_file: Path | None = None
    """PEM file with the key of the client's certificate."""
    check_hostname: bool = False
    """Check that a node's certificate names the node's address. Without this check, any certificate of the authority is
    accepted."""
    request_timeout_seconds: float = 10.0
    """Maximum duration of one statement. After that time, the store counts as unavailable."""
    blob_ttl_days: int = Field(0, ge=0)
    """Lifetime of a blob since it was stored last (days), even if pages refer to it: 22 or more. 0: no end."""

    def current_password(self) -> str:
        """Return the password as its file has it now. Raises UsageError."""
        return current_secret(self.password_file)

    @field_validator("blob_ttl_days")
    @classmethod
    def _longer_than_events(cls, days: int) -> int:
        if 0 < days < MIN_BLOB_TTL_DAYS:
            raise ValueError(f"{days} days: events may refer to a blob for {MIN_BLOB_TTL_DAYS} days. Use more, or 0")
        return days


class QdrantSettings(SettingsGroup):
    url: str = "http://127.0.0.1:6333"
    """REST address of the cluster."""
    api_key_file: Path | None = None
    """File with the API key, read before each request. Default: no authentication."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the server's certificate. Default: the authorities of the system."""
    cert_file: Path | None = None
    """PEM file with the client's certificate, if the server requires one."""
    key_file: Path | None = None
    """PEM file with the key of the client's certificate."""
    shards: int = Field(1, ge=1)
    """Number of shards of a new collection. Default: 1, and 64 in the production profile."""
    hnsw_ef: int = Field(512, ge=0)
    """Number of candidates that a search by meaning follows in the graph of vectors: more find more, and take
    longer. 0: Qdrant's own choice."""
    quantization: Literal["int8", "binary", "none"] = "int8"
    """Compressed form of a new collection's vectors, which is searched first. `int8` has a quarter of their size,
    `binary` a 32nd (from 768 dimensions on)."""
    oversampling: float = Field(2.0, ge=1)
    """Number of compressed candidates for each result, which are compared again with their full vectors."""
    replication: int = Field(1, ge=1)
    """Number of replicas of a new collection. Production: 2 or more."""
    timeout_seconds: float = 10.0
    """Maximum duration of one request."""

    def current_api_key(self) -> str:
        """Return the API key as its file has it now, or an empty string. Raises UsageError."""
        return current_secret(self.api_key_file)


IN_PROCESS = "inprocess:"
"""The address of models that run inside the process that uses them."""
OPENAI = "openai+"
"""The beginning of an address of an embedding server with the API of OpenAI, before `http://` or `https://`."""
DEFAULT_MODEL = "sbert"
"""The embedding model for English. Riffle also brings `sbert_e5` and `e5`, for a hundred languages."""
OF_QUERIES = "_query"
"""The end of the name of a model that only embeds queries."""


class TritonSettings(SettingsGroup):
    url: str = "127.0.0.1:8001"
    """gRPC address. `inprocess:` runs the same model files inside the process, as the local stack does by default.
    `openai+https://HOST/v1` asks a server with the API of OpenAI for vectors, and runs the other models inside."""
    model: str = DEFAULT_MODEL
    """Name of the embedding model in the model repository."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the server's certificate. With this file, connections are encrypted."""
    cert_file: Path | None = None
    """PEM file with the client's certificate, if the server requires one."""
    key_file: Path | None = None
    """PEM file with the key of the client's certificate. With `openai+`, file with the server's API key, which is read
    before each request."""
    query_model: str = Field(default_factory=lambda others: f"{others.get('model', DEFAULT_MODEL)}{OF_QUERIES}")
    """Name of the model for queries: the same network in an instance of its own, by default `<model>_query`. Empty, or
    missing in the repository: the embedding model embeds queries."""
    query_url: str = ""
    """gRPC address of the server with the model for queries. Production: a small deployment on CPUs. Empty: the
    server of the embedding model."""
    rerank_model: str = ""
    """Name of a cross-encoder in the model repository (`rerank`), on the server for queries. The model scores the first
    50 results. Empty: none."""
    timeout_seconds: float = 30.0
    """Maximum duration of one batch."""
    threads: int = Field(0, ge=0)
    """Number of batches of statements that a process embeds at once, with `inprocess:`. 0: one for each core."""

    @property
    def is_openai(self) -> bool:
        """True if the embedding model is behind a server with the API of OpenAI."""
        return self.url.startswith(OPENAI)

    def current_api_key(self) -> str:
        """Return the API key of such a server as its file has it now, or an empty string. Raises UsageError."""
        return current_secret(self.key_file)
