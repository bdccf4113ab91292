"""The settings of Kafka, Cassandra, Qdrant and the model server."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from streams.secret_files import FollowingSecret, current_secret, one_source
from streams.settings.groups import SettingsGroup

MIN_BLOB_TTL_DAYS = 22
"""Minimum lifetime of blobs (days). Until then, an event may refer to a blob (`streams.maintenance.sweeping`)."""


class KafkaSettings(SettingsGroup):
    bootstrap: str = "localhost:9092"
    """HOST:PORT of some brokers, separated by commas."""
    partitions: int = Field(8, ge=1)
    """Number of partitions of each new topic. Production: at least the maximum number of workers of a stage. The local
    stack has 2 unless this is set. A topic that is made later gets as many as the others have."""
    replication: int = Field(1, ge=1)
    """Number of replicas of each new topic. Production: 3."""
    max_record_bytes: int = Field(1_048_576, ge=100_000)
    """Maximum size of a record. Not more than `message.max.bytes` of the brokers."""
    compression: Literal["none", "gzip", "lz4"] = "lz4"
    """Compression of sent records."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """SSL encrypts the connections, with the certificates below. SASL_SSL also signs in with a user name, as managed
    clusters ask for. SASL_PLAINTEXT sends passwords unencrypted: production refuses it."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"] = "SCRAM-SHA-512"
    """The way to sign in with SASL."""
    sasl_username: str = ""
    """User name; with OAUTHBEARER the id of the client."""
    sasl_password: SecretStr = SecretStr("")
    """Password of the user; with OAUTHBEARER the secret of the client."""
    sasl_password_file: Path | None = None
    """File with the password instead. It is read before each sign-in, so a rotated password needs no restart."""
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

    def current_password(self) -> FollowingSecret:
        """Return the password as its file has it now. Raises UsageError."""
        return FollowingSecret.of(self.sasl_password, self.sasl_password_file)

    @model_validator(mode="after")
    def _sasl_is_complete(self) -> Self:
        one_source("kafka.sasl_password", self.sasl_password, self.sasl_password_file)
        has_password = bool(self.sasl_password_file or self.sasl_password.get_secret_value())
        if self.has_sasl and not (self.sasl_username and has_password):
            raise ValueError(f"{self.security_protocol} needs kafka.sasl_username and kafka.sasl_password")
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
    password: SecretStr = SecretStr("")
    """Password of the user."""
    password_file: Path | None = None
    """File with the password instead. It is read before each sign-in, so a rotated password needs no restart."""
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
    simhash_tables: Literal[4, 10, 20] = 4
    """Number of SimHash tables: 4 for tens of millions of pages, 10 for a billion, 20 for more. The keys of stored
    rows depend on it."""
    blob_ttl_days: int = Field(0, ge=0)
    """Lifetime of a blob since it was stored last (days). Then the blob expires, even if pages refer to it. 0: it
    never expires. Minimum: 22."""

    def current_password(self) -> str:
        """Return the password as its file has it now. Raises UsageError."""
        return current_secret(self.password, self.password_file)

    @model_validator(mode="after")
    def _one_password(self) -> Self:
        one_source("cassandra.password", self.password, self.password_file)
        return self

    @field_validator("blob_ttl_days")
    @classmethod
    def _longer_than_events(cls, days: int) -> int:
        if 0 < days < MIN_BLOB_TTL_DAYS:
            raise ValueError(f"{days} days: events may refer to a blob for {MIN_BLOB_TTL_DAYS} days. Use more, or 0")
        return days


class QdrantSettings(SettingsGroup):
    url: str = "http://127.0.0.1:6333"
    """REST address of the cluster."""
    api_key: SecretStr = SecretStr("")
    """API key. Empty: no authentication."""
    api_key_file: Path | None = None
    """File with the API key instead. It is read before each request, so a rotated key needs no restart."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the server's certificate. Default: the authorities of the system."""
    cert_file: Path | None = None
    """PEM file with the client's certificate, if the server requires one."""
    key_file: Path | None = None
    """PEM file with the key of the client's certificate."""
    shards: int = Field(1, ge=1)
    """Number of shards of a new collection. Default: 1, and 64 in the production profile."""
    hnsw_ef: int = Field(512, ge=0)
    """Number of candidates that a search by meaning follows in the graph of vectors. More candidates find more of the
    nearest vectors, and take longer. 0: Qdrant's own choice."""
    quantization: Literal["int8", "binary", "none"] = "int8"
    """Compressed form of a new collection's vectors, which is searched first. `int8` has a quarter of the vectors'
    size, `binary` a 32nd (for 768 and more dimensions)."""
    oversampling: float = Field(2.0, ge=1)
    """Number of compressed candidates for each result. They are compared again with their full vectors."""
    replication: int = Field(1, ge=1)
    """Number of replicas of a new collection. Production: 2 or more."""
    write_consistency: int | None = Field(None, ge=1)
    """Number of replicas that must have a write before the write is acknowledged. Default: a majority."""
    ordering: Literal["weak", "medium", "strong"] = "medium"
    """Order of writes on replicas. `medium`: the same order on all. `strong`: also while leaders change."""
    timeout_seconds: float = 10.0
    """Maximum duration of one request."""

    def current_api_key(self) -> str:
        """Return the API key as its file has it now, or an empty string. Raises UsageError."""
        return current_secret(self.api_key, self.api_key_file)

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        one_source("qdrant.api_key", self.api_key, self.api_key_file)
        return self


class TritonSettings(SettingsGroup):
    url: str = "127.0.0.1:8001"
    """gRPC address. `inprocess:` runs the same model files inside the process, as the local stack does by default."""
    model: str = "sbert"
    """Name of the embedding model in the model repository."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the server's certificate. With this file, connections are encrypted."""
    cert_file: Path | None = None
    """PEM file with the client's certificate, if the server requires one."""
    key_file: Path | None = None
    """PEM file with the key of the client's certificate."""
    query_model: str = "sbert_query"
    """Name of the model for queries: the same network in an instance of its own, so that a query doesn't wait for
    statements. Empty, or missing in the repository: the embedding model embeds queries, too."""
    query_url: str = ""
    """gRPC address of the Triton server with the model for queries. Production: a small deployment on CPUs. Empty: the
    server of the embedding model."""
    rerank_model: str = ""
    """Name of a cross-encoder in the model repository (`rerank`), on the server for queries. The model scores the first
    50 results. Empty: none."""
    timeout_seconds: float = 30.0
    """Maximum duration of one batch."""
    batch_size: int = Field(64, ge=1)
    """Number of texts in one request."""
    threads: int = Field(0, ge=0)
    """Number of batches of statements that a process embeds at once, with `inprocess:`. 0: one for each core."""
