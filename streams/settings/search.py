"""The settings of a search and of the gateway."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, StringConstraints

from streams.settings.groups import SettingsGroup

_Primary = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}$", to_lower=True)]


_Origin = Annotated[str, StringConstraints(pattern=r"^(\*|https?://[^\s/?#*]+)$", to_lower=True)]


class SearchSettings(SettingsGroup):
    """The settings of a search, which the gateway and `python -m benchmarks eval search` share."""

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
    coverage_weight: float = Field(1.0, ge=0, le=10)
    """Maximum addition to the score of one of the first 30 pages for having all words of the query in its statements
    found, in standard deviations of the scores; the square of the share counts. 0: not used."""
    title_weight: float = Field(1.5, ge=0, le=10)
    """Addition to the score of a page whose title has the words of the query, and no others, in standard deviations of
    the scores. 0: not used."""
    site_weight: float = Field(4.0, ge=0, le=10)
    """Addition to the score of the first page of a site if the query is the site's name, in standard deviations of the
    scores. 0: not used."""
    min_confidence: float | None = Field(None, ge=0, le=2)
    """Minimum confidence in the results of a query, from its words and the nearest statement; below it nothing was
    found. 0: any results are found. Default: the measured one of the embedding model, raised for an index over which
    made nonsense has more; none for another model (`python -m benchmarks eval confidence` measures it)."""
    rerank_weight: float = Field(0.6, ge=0, le=10)
    """Addition to the score of a page for each standard deviation of the cross-encoder's scores, if there is a
    cross-encoder (`RIFFLE_TRITON__RERANK_MODEL`)."""
    authority_weight: float = Field(0.1, ge=0, le=10)
    """Maximum addition to the score of a page for the authority of its host, in standard deviations of the scores. 0:
    not used. `riffle links rank` computes the ranks of hosts."""
    freshness_weight: float = Field(0.05, ge=0, le=10)
    """Maximum addition to the score of a page for a recent date of publication. 0: not used."""
    clicks_weight: float = Field(0.1, ge=0, le=1)
    """Maximum addition to the score of a page that people open more often than its place explains, and maximum
    subtraction for the others. Only where queries and clicks are collected (`RIFFLE_QUERIES__COLLECT`). 0: not used."""
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
    cors_origins: tuple[_Origin, ...] = ()
    """Origins whose scripts may ask the API from a browser (CORS): `["https://docs.example.org"]`. `["*"]`: all. No
    cookies are sent or read, and pages of the gateway are not concerned. Default: none."""
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
    spelling: bool = True
    """Correct misspelt English words of a query. The vocabulary takes about 130 MB of memory."""
    suggestions: bool = True
    """Suggest queries while a person types, by the one script of the pages, and in the API. Without it, the pages have
    no script."""
    suggestions_in_memory: int = Field(1_000_000, ge=0)
    """Maximum number of suggestions of `riffle suggest build` that a gateway holds in memory (45 MB for a million).
    Others are read from Cassandra."""
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
