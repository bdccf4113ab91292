"""All settings with their defaults and units, in one frozen object that is read once.

The environment variables are the fields' names in upper case after `RIFFLE_`, with `__` between group and field:
`RIFFLE_CRAWL__DELAY_SECONDS`. `riffle up` writes the local stack's addresses to `.riffle/stack.json`. They are the
defaults of the local profile, and the environment overrides them.
"""

import json
import os
from functools import cached_property
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from streams.allowed_hosts import LOCAL_NAMES, host_of
from streams.allowed_origins import AllowedOrigins, parse_networks, parse_origins
from streams.errors import UsageError
from streams.merging import merge_mappings
from streams.servers import NAMES

MIN_BLOB_TTL_DAYS = 22
"""Minimum lifetime of blobs (days). Until then, an event may refer to a blob (`streams.maintenance.sweeping`)."""


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class KafkaSettings(_Group):
    bootstrap: str = "localhost:9092"
    """HOST:PORT of some brokers, separated by commas."""
    partitions: int = Field(8, ge=1)
    """Number of partitions of each new topic. Production: at least the maximum number of workers of a stage."""
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

    @model_validator(mode="after")
    def _sasl_is_complete(self) -> Self:
        if self.has_sasl and not (self.sasl_username and self.sasl_password.get_secret_value()):
            raise ValueError(f"{self.security_protocol} needs kafka.sasl_username and kafka.sasl_password")
        if self.has_sasl and (self.sasl_mechanism == "OAUTHBEARER") != bool(self.sasl_token_url):
            raise ValueError("kafka.sasl_token_url belongs to the mechanism OAUTHBEARER: set both, or none")
        return self


class CassandraSettings(_Group):
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

    @field_validator("blob_ttl_days")
    @classmethod
    def _longer_than_events(cls, days: int) -> int:
        if 0 < days < MIN_BLOB_TTL_DAYS:
            raise ValueError(f"{days} days: events may refer to a blob for {MIN_BLOB_TTL_DAYS} days. Use more, or 0")
        return days


class QdrantSettings(_Group):
    url: str = "http://127.0.0.1:6333"
    """REST address of the cluster."""
    api_key: SecretStr = SecretStr("")
    """API key. Empty: no authentication."""
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


class TritonSettings(_Group):
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


_Region = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,15}$")]
_HostSuffix = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,9}$")]


class CrawlSettings(_Group):
    user_agent: str = "RiffleBot/0.1 (+https://github.com/riffle-search/riffle; crawler)"
    """User agent, as servers and robots.txt files see it."""
    contact_url: str = ""
    """A page that names the operator of the crawler and a contact. Required in production. Part of the user agent."""
    delay_seconds: float = Field(1.0, ge=0)
    """Time between two fetches of one host, unless its robots.txt sets a delay."""
    host_concurrency: int = Field(1, ge=1)
    """Maximum number of concurrent fetches of one host."""
    max_depth: int = Field(16, ge=0)
    """Maximum number of hops from the seed, unless the crawl sets it."""
    max_pages_per_host: int = Field(100_000, ge=1)
    """Maximum number of pages of one host in a crawl, unless the crawl sets it."""
    max_body_bytes: int = 10 * 1024 * 1024
    """Maximum size of a response body after decompression. A larger body is refused."""
    max_header_bytes: int = 64 * 1024
    """Maximum size of all headers of a response."""
    keep_exchanges: bool = True
    """Keep both heads of each exchange, the server's address, and the body as it was received. `riffle export warc`
    writes them."""
    timeout_seconds: float = 30.0
    """Maximum duration of one fetch, from the connection to the last byte."""
    min_bytes_per_second: int = 500
    """Minimum rate of a response. A slower response is aborted."""
    clock_bound_seconds: float = Field(5.0, ge=0)
    """Maximum difference between the clocks of two machines. A worker does not start if its clock differs by more from
    Cassandra's clock."""
    lease_seconds: float = 120.0
    """Time after which a scheduled URL without an answer is scheduled again."""
    max_attempts: int = Field(5, ge=1)
    """Maximum number of attempts for a URL if its fetch fails with a transient error."""
    recrawl: bool = True
    """Visit pages again: after an hour, then by how often each one changes, between 5 minutes and 30 days. False: a
    page is fetched again only when a person asks for it."""
    sitemaps: bool = False
    """Read the sitemaps that the robots.txt of a seed's host names: their pages count as links of the seed. A sitemap
    may name 50,000 pages, so a crawl is then bounded by its budget rather than by its depth."""
    robots_ttl_seconds: float = 86_400.0
    """Time until a host's robots.txt is fetched again. RFC 9309 section 2.4: at most 24 hours."""
    in_flight: int = Field(64, ge=1)
    """Maximum number of scheduled URLs without an answer, per frontier worker."""
    min_free_bytes: int = Field(1_000_000_000, ge=0)
    """Minimum free space on the disk of the local stack (bytes). While less is free, nothing is scheduled, and imports
    and replays wait."""
    max_stage_lag_events: int = Field(100_000, ge=1)
    """Maximum number of events that a later stage may be behind. While a stage is further behind, nothing is
    scheduled."""
    regions: dict[_Region, tuple[_HostSuffix, ...]] = Field(default_factory=dict)
    """REGION -> suffixes of the hosts that its fetchers crawl, for the frontier: `{"eu": ["de", "fr"], "us": []}`. The
    longest suffix decides. Hosts without a suffix here are spread over all regions. Empty: one crawl, without
    regions."""
    region: str = ""
    """The region of this fetcher, a name from `regions`."""

    @cached_property
    def origins(self) -> AllowedOrigins:
        """The origins that may be crawled though they are not public."""
        return AllowedOrigins(frozenset(self.allowed_origins), self.allow_loopback)

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(parse_origins(names)))

    @field_validator("allowed_networks")
    @classmethod
    def _are_private(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(str, parse_networks(networks)))

    @field_validator("regions")
    @classmethod
    def _each_suffix_once(cls, regions: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        suffixes = [suffix for listed in regions.values() for suffix in listed]
        if twice := sorted({suffix for suffix in suffixes if suffixes.count(suffix) > 1}):
            raise ValueError(f"a suffix belongs to one region, and {', '.join(twice)} is listed twice")
        return regions

    allowed_origins: tuple[str, ...] = ()
    """Origins that are crawled though they are not public, as `["http://wiki.corp.example", "https://docs.example:8443",
    "http://*.lab.example"]`. Their pages keep scheme and port. A site without TLS is crawled if its origin is here."""
    allowed_networks: tuple[str, ...] = ()
    """Private networks whose addresses `allowed_origins` may have: `["10.20.0.0/16"]`. No other host may have them."""
    allowed_ca_file: Path | None = None
    """PEM file with the authority that signed the certificates of `allowed_origins`, beside the system's
    authorities."""
    allow_loopback: bool = False
    """Crawl servers on this machine, such as `http://localhost:8000/`. `riffle up` sets it for its own stack. Refused
    in production."""
    local_hosts: dict[str, str] = Field(default_factory=dict)
    """HOST -> ADDRESS:PORT of the hosts of `riffle web serve`, reached on loopback. Refused in production."""
    local_ca_file: Path | None = None
    """PEM file with the authority that signed the certificates of `local_hosts`. Refused in production."""


class RenderSettings(_Group):
    enabled: bool = False
    """Render pages in headless Chromium if scripts make their text. Costs about a second of CPU time a page."""
    chromium: str = ""
    """Path of Chromium. Empty: `chromium`, `chromium-browser` or `google-chrome`."""
    timeout_seconds: float = Field(15.0, gt=0)
    """Maximum duration of rendering a page, with the start of the browser."""
    cpu_seconds: float = Field(10.0, gt=0)
    """Maximum CPU time of all processes of a page's browser."""
    memory_mb: int = Field(1_500, ge=200)
    """Maximum memory of all processes of a page's browser (MiB)."""
    max_requests: int = Field(60, ge=0)
    """Maximum requests of a page's scripts."""
    max_bytes: int = Field(8 * 1024 * 1024, ge=0)
    """Maximum bytes of all answers to a page's scripts."""


class RuntimeSettings(_Group):
    retries_in_place: int = Field(3, ge=0)
    """Maximum number of retries in place after a transient error, before the event goes to the retry topic."""
    retry_backoff_seconds: float = 0.2
    """Delay before the first retry in place. It doubles with each retry."""
    retry_topic_attempts: int = Field(5, ge=0)
    """Maximum number of passes through the retry topics, before the event becomes a dead letter."""
    retry_topic_delay_seconds: float = 5.0
    """Delay of the first two passes through the retry topics. Each later pass waits twelve times as long."""
    event_deadline_seconds: float = Field(900.0, gt=0)
    """Maximum duration of one attempt to handle an event. After that time, the event goes to the retry topic."""
    max_waiting_events: int = Field(2_000, ge=1)
    """Maximum number of unacknowledged events that a worker holds, per stage and kind of topic."""
    commit_interval_seconds: float = 0.5
    """Time between two commits of offsets. After a crash, at most the events of this time are repeated."""
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


_Primary = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}$", to_lower=True)]


class SearchSettings(_Group):
    """The settings of a search, which the gateway and `riffle eval search` share."""

    deadline_seconds: float = Field(2.0, gt=0, allow_inf_nan=False)
    """Maximum duration of a search. Parts that have not answered by then are left out."""
    max_query_chars: int = Field(2_000, ge=1)
    """Maximum length of a query. A longer query is refused."""
    languages: tuple[_Primary, ...] = ()
    """Languages to search if a request names none: BCP 47 primary tags (`und`: unknown language). Empty: all."""
    block_lists: tuple[Path, ...] = ()
    """Files with the hosts that are left out of results: hosts files, domain lists, or rules of ad blockers for whole
    domains. A file is read again when it changes, without a restart."""
    results_per_host: int = Field(3, ge=0)
    """Maximum number of results of one host on the first page, as long as there are other results. 0: any number."""
    hide_adult: bool = True
    """Leave adult pages out."""
    meaning_weight: float | None = Field(None, ge=0, le=1)
    """Fixed weight of meaning in the score of a page; words have the rest to 1. Default: a trained weight, which
    follows from the query."""
    model_languages: tuple[_Primary, ...] | None = None
    """Languages that the embedding model knows (BCP 47 primary tags). A query that is surely in another language is
    only searched by words. Empty: all languages. Default: English for the models that Riffle brings, else all."""
    answer_weight: float = Field(0.6, ge=0, le=10)
    """Addition to the score of a statement with the form of the answer to a short question (a year for "when"), in
    standard deviations of the scores. 0: not used."""
    min_confidence: float | None = Field(None, ge=0, le=2)
    """Minimum confidence in the results of a query, from its words and the nearest statement; below it nothing was
    found. 0: any results are found. Default: the measured one of the embedding model; none for another model
    (`riffle eval confidence` measures it)."""
    rerank_weight: float = Field(0.6, ge=0, le=10)
    """Addition to the score of a page for each standard deviation of the cross-encoder's scores, if there is a
    cross-encoder (`RIFFLE_TRITON__RERANK_MODEL`)."""
    authority_weight: float = Field(0.1, ge=0, le=10)
    """Maximum addition to the score of a page for the authority of its host, in standard deviations of the scores. 0:
    not used. `riffle links rank` computes the ranks of hosts."""
    freshness_weight: float = Field(0.05, ge=0, le=10)
    """Maximum addition to the score of a page for a recent date of publication. 0: not used."""
    quality_weight: float = Field(0.3, ge=0, le=10)
    """Maximum subtraction from the score of a page for its low quality (repetition, stuffing, incoherence, hidden text,
    advertisements). 0: not used."""
    min_quality: float = Field(0.5, ge=0, le=1)
    """Quality from which on a page loses nothing. Below it, the loss grows up to the whole weight at quality 0."""
    freshness_half_life_days: float = Field(365.0, gt=0, allow_inf_nan=False)
    """Age of a page with half the freshness of today's page (days)."""
    recall_share: float = Field(0.01, ge=0, le=1)
    """Share of searches that are also answered exactly, in the background. They measure how many of the nearest vectors
    the index finds (`riffle_search_recall`). An exact search reads all vectors, so each gateway makes at most one in 30
    seconds. 0: none."""


class GatewaySettings(SearchSettings):
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8080
    """Port to listen on."""
    admin_port: int | None = Field(None, ge=0, le=65535)
    """Separate port for operators, with health, metrics and labs pages. The public port then has only /healthz of
    these. Default: all on one port."""
    health_port: int | None = Field(None, ge=0, le=65535)
    """Port of a further /healthz, over HTTP, which a thread of its own answers: also while the gateway is busy.
    Default: none."""
    public_url: str = Field("", pattern=r"^(https?://[^\s/?#<>\"']+(/[^\s?#<>\"']*)?)?$")
    """Address of the gateway for people, such as `https://search.example.org`, for the description that browsers read
    (`/opensearch.xml`). Empty: the address of each request, and no cache keeps the description."""
    allowed_hosts: tuple[Annotated[str, StringConstraints(to_lower=True, min_length=1)], ...] = ()
    """Names by which clients ask the gateway (`Host`), without port: `["search.example.org", "*.example.net"]`. A
    request with another name is refused with status 403: a page's own name could lead to the gateway (DNS rebinding).
    `localhost` is always allowed, and for health and metrics any IP address. `["*"]`: any name. Default: the name in
    `public_url`. Without it only `localhost` and `host`, and in the production profile any name."""
    max_connections: int = Field(1_000, ge=1)
    """Maximum number of open connections. Requests on further connections are refused with status 503."""
    publish_queries: bool = False
    """Publish each query, with its text and the pages shown, as `queries.made`. Kafka keeps the query for a day at
    most. Queries hold names, illnesses and secrets: tell the people who search (docs/concepts/privacy.md)."""
    publish_clicks: bool = False
    """Publish each click on a result, without the text of the query, as `results.clicked`, which Kafka keeps for a day
    at most. The results then link to `/act`, which leads on. Needs `keys`. Tell the people who search
    (docs/concepts/privacy.md)."""
    keys: tuple[Annotated[SecretStr, Field(min_length=32)], ...] = ()
    """Secrets of 32 characters or more, for links to `/act` and for the cookies of preferences. All gateways have the
    same ones. The first secret makes new links and cookies; the others, former ones, still open theirs. To exchange a
    secret, put the new one before it, and remove the old one after a year. The local stack makes and keeps one. Without
    a secret there are no preferences."""
    spelling_languages: tuple[_Primary, ...] = ("en",)
    """Languages in which misspelt queries are corrected (BCP 47 primary tags): ar, de, en, es, eu, fa, fr, it, lv, nl,
    pt, ru. Each takes 130 MB of memory. A query without a language is of the first one. Empty: nothing is corrected."""
    suggestions: bool = True
    """Suggest queries while a person types, by the one script of the pages, and in the API. Without it, the pages have
    no script."""
    suggestions_in_memory: int = Field(1_000_000, ge=0)
    """Maximum number of suggestions of `riffle suggest build` that a gateway holds in memory (45 MB for a million).
    Others are read from Cassandra."""
    labels: Path | None = None
    """Folder for the labels of `/labs/label`. Several gateways may share the folder. Default: `labels` in the home
    folder. In the production profile there is no default, and nobody can label without a folder."""
    cert_file: Path | None = None
    """PEM file with the gateway's certificate. With this file, the gateway serves only HTTPS."""
    key_file: Path | None = None
    """PEM file with the key of the gateway's certificate."""
    client_ca_file: Path | None = None
    """PEM file with the authority of client certificates. With this file, each client must have a certificate: for a
    gateway behind a reverse proxy."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the gateway's certificate, for commands that ask the gateway
    (`riffle search`). Default: the authorities of the system."""
    client_cert_file: Path | None = None
    """PEM file with the certificate of the commands, if the gateway requires one."""
    client_key_file: Path | None = None
    """PEM file with the key of the commands' certificate."""

    @property
    def address(self) -> str:
        """The address at which commands on this machine reach the gateway."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.cert_file else 'http'}://{host}:{self.port}"


class AdminSettings(_Group):
    """The pages of operators (`riffle admin`)."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(8090, ge=0, le=65535)
    """Port to listen on. 0: any free one."""
    key: SecretStr | None = Field(None, min_length=24)
    """The password of operators, of 24 characters or more. A proxy that signs people in sends it with their names (HTTP
    Basic). Default: a new one at each start, which `riffle admin` prints; required in production."""
    allowed_hosts: tuple[Annotated[str, StringConstraints(to_lower=True, min_length=1)], ...] = ()
    """Names by which clients ask for the pages (`Host`), without port, beside `localhost` and `host`."""


class AnswersSettings(_Group):
    """Answers by a language model. They are off by default: without `url`, no model is asked.

    Statements of the results and the question are sent to the server at `url`. Tell the people who search
    (docs/concepts/privacy.md).
    """

    url: str = Field("", pattern=r"^(https?://[^\s?#<>\"']+)?$")
    """Address of a server with the API of OpenAI, up to its version: `http://127.0.0.1:8000/v1`. Empty: no model."""
    model: str = "default"
    """Name of the model, as the server knows it."""
    key: SecretStr = SecretStr("")
    """API key of the server. Empty: none."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the server's certificate. Default: the authorities of the system."""
    deadline_seconds: float = Field(15.0, gt=0, allow_inf_nan=False)
    """Maximum duration of an answer by a model. The results never wait for it."""
    max_tokens: int = Field(300, ge=16, le=4_096)
    """Maximum tokens that the model writes about one page. An answer reads at most three pages."""
    max_at_once: int = Field(4, ge=1)
    """Maximum number of pages that the model is asked about at the same time, for each gateway process."""
    per_person: int = Field(30, ge=0)
    """Answers by a model that a person gets in an hour. 0: any number. A person is a hash of the address, with a key
    that is drawn anew each hour and stored nowhere."""
    per_hour: int = Field(1_000, ge=0)
    """Answers by a model in an hour, for each gateway process. 0: any number."""
    cost_per_day: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Cost in a day, for each gateway process, behind which no model is asked until the next day (UTC), in the currency
    of the prices. 0: no limit."""
    prompt_price: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Price of a million tokens that the model reads."""
    answer_price: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Price of a million tokens that the model writes."""


class QueriesSettings(_Group):
    """The collection of everybody's queries. It is off by default."""

    collect: bool = False
    """Count queries, for suggestions. Each query is in Kafka for a day at most, as `queries.asked`, with a hash of the
    person that has another key each day. Counts are stored of queries that enough people asked on one day. Needs
    `RIFFLE_GATEWAY__KEYS`. Tell the people who search (docs/concepts/privacy.md)."""
    min_people: int = Field(10, ge=2)
    """Number of people who must ask a query on one day before its counts of that day are stored."""
    sample: int = Field(1, ge=1)
    """One query in this many is counted, drawn by chance."""
    blocked_words: tuple[Path, ...] = ()
    """Files with words and phrases, one a line, that no suggestion has, for workers, builds and gateways. `#` begins a
    comment."""


class AccessSettings(_Group):
    """Who may use the API, and how much. A budget counts work units: a plain search is one (docs/reference/api.md)."""

    key: SecretStr = SecretStr("")
    """Key of the API that `riffle mcp` sends to the gateway. Empty: none."""
    anonymous: bool = True
    """Answer requests to the API without a key. The pages for people need none in any case."""
    anonymous_per_minute: int = Field(0, ge=0)
    """Budget of an address without a key, for the API and the result page (work units a minute). 0: no limit."""
    anonymous_per_day: int = Field(0, ge=0)
    """Budget of an address without a key (work units a day). 0: no limit."""
    key_per_minute: int = Field(0, ge=0)
    """Budget of a key that has none of its own (work units a minute). 0: no limit."""
    key_per_day: int = Field(0, ge=0)
    """Budget of a key that has none of its own (work units a day). 0: no limit."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of the reverse proxies whose `X-Forwarded-For` is believed. Without them, all clients
    behind a proxy share one budget."""
    private_sites: bool = False
    """There are sites whose pages only their own keys find (`riffle sites add --private`). The gateway then answers
    nobody until it has read the sites once."""
    fetch_now: Literal["nobody", "keys", "everybody"] = "keys"
    """Who may have a page fetched that is not indexed (`/api/v1/extract`): nobody, keys with the scope `extract`, or
    everybody. Each such page is fetched by the gateway, within the rules of the crawler."""

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            ip_network(network, strict=False)
        return networks


class KnowledgeSettings(_Group):
    language: str = Field("en", pattern=r"^[a-z][a-z0-9-]{1,19}$")
    """Language of the names and texts that imports of Wikidata and Wikipedia take, as Wikimedia's projects spell it."""
    panels: bool = True
    """Show panels of entities beside results. Without imported entities, none is ever looked for."""
    confidence: float = Field(0.5, ge=0, le=1)
    """Minimum probability that a panel is about what was asked."""


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
    """Folder of the models. Default: the folder in the package, or `triton_models` of the checkout."""
    local_web: Path | None = None
    """A folder DIR/HOST/path that the local stack serves over HTTPS on loopback, for the crawler."""
    local_tls: bool = False
    """The local stack's servers and gateway require certificates of the stack's own authority (`riffle up --tls`)."""
    local_triton: bool = False
    """The local stack starts Triton for the models (`riffle up --triton`). Default: the models run inside the processes
    that use them."""
    local_worker_per_stage: bool = False
    """The local stack starts a worker process for each stage, as a cluster does. False: one worker process for all
    stages, which starts quicker and takes less memory, unless `local_tls` gives each stage its own certificate."""
    otlp_endpoint: str = ""
    """Address for traces (OTLP over HTTP). Empty: no traces are sent."""
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
            for certificate, key in (("cert_file", "key_file"), ("client_cert_file", "client_key_file")):
                if (getattr(group, certificate, None) is None) != (getattr(group, key, None) is None):
                    raise ValueError(f"{name}.{certificate} and {name}.{key} belong together: set both, or none")
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
    def gateway_hosts(self) -> frozenset[str]:
        """The names by which clients may ask the gateway. Empty: any name."""
        own = self.gateway
        named = own.allowed_hosts or tuple(filter(None, [host_of(own.public_url)]))
        return frozenset({*LOCAL_NAMES, own.host, *named}) if named or self.profile == "local" else frozenset()

    @property
    def labels_folder(self) -> Path | None:
        """The folder of the labels of `/labs/label`, or None where nobody labels."""
        return self.gateway.labels or (self.home / "labels" if self.profile == "local" else None)

    @cached_property
    def models_path(self) -> Path:
        """The folder of the models."""
        here = Path(__file__).resolve().parent
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
