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
    languages: tuple[_Primary, ...] = ()
    """Languages to search if a request names none: BCP 47 primary tags (`und`: unknown language). Empty: all."""
    block_lists: tuple[Path, ...] = ()
    """Files with hosts that are left out of results: hosts files, domain lists, or rules of ad blockers for whole
    domains. They are read again when they change."""
    results_per_host: int = Field(3, ge=0)
    """Maximum number of results of one host on the first page, as long as there are other results. 0: any number."""
    hide_adult: bool = True
    """Leave adult pages out."""
    model_languages: tuple[_Primary, ...] | None = None
    """Languages that the embedding model knows (BCP 47 primary tags). A query that is surely in another one is only
    searched by words. Empty: all. Default: English for the models that Riffle brings, else all."""
    min_confidence: float | None = Field(None, ge=0, le=2)
    """Minimum confidence in the results of a query; below it nothing was found. 0: any results are found. Default: the
    measured one of the embedding model; none for another one (`python -m benchmarks eval confidence` measures it)."""
    authority_weight: float = Field(0.1, ge=0, le=10)
    """Maximum addition to the score of a page for the authority of its host, in standard deviations of the scores."""
    freshness_weight: float = Field(0.05, ge=0, le=10)
    """Maximum addition to the score of a page for a recent date of publication."""
    recall_share: float = Field(0.01, ge=0, le=1)
    """Share of searches that are also answered exactly, in the background, at most one in 30 seconds: they measure
    how many of the nearest vectors the index finds. 0: none."""


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
    """Address of the gateway for people, such as `https://search.example.org`, for the description that browsers
    read (`/opensearch.xml`). Empty: the address of each request."""
    allowed_hosts: tuple[Annotated[str, StringConstraints(to_lower=True, min_length=1)], ...] = ()
    """Names by which clients ask the gateway (`Host`), without port: `["search.example.org", "*.example.net"]`.
    Others get status 403 (DNS rebinding). `["*"]`: any. Default: the name in `public_url`; without it only
    `localhost` and `host`, and in production any name."""
    cors_origins: tuple[_Origin, ...] = ()
    """Origins whose scripts may ask the API from a browser (CORS), without cookies: `["https://docs.example.org"]`.
    `["*"]`: all."""
    publish_queries: bool = False
    """Publish each query, with its text and the pages shown, as `queries.made`, which Kafka keeps for a day at most.
    Tell the people who search (docs/concepts/privacy.md)."""
    publish_clicks: bool = False
    """Publish each click on a result, without the text of the query, as `results.clicked`, which Kafka keeps for a
    day at most. Needs `keys`. Tell the people who search (docs/concepts/privacy.md)."""
    keys: tuple[Annotated[SecretStr, Field(min_length=32)], ...] = ()
    """Secrets of 32 characters or more, the same for all gateways, for links to `/act` and cookies of preferences.
    The first makes new ones; the others, former ones, open theirs. Without a secret there are no preferences; the
    local stack makes one."""
    spelling: bool = True
    """Correct misspelt English words of a query. The vocabulary takes about 130 MB of memory."""
    suggestions: bool = True
    """Suggest queries while a person types, by the one script of the pages, and in the API."""
    cert_file: Path | None = None
    """PEM file with the gateway's certificate: with it, the gateway serves only HTTPS."""
    key_file: Path | None = None
    """PEM file with the key of the gateway's certificate."""
    client_ca_file: Path | None = None
    """PEM file with the authority of client certificates. With it, each client must have one: for a gateway behind a
    reverse proxy."""
    ca_file: Path | None = None
    """PEM file with the authority of the gateway's certificate, for commands that ask the gateway (`riffle search`):
    with it they ask by HTTPS, and show the certificate that they show Kafka. Default: the authorities of the system."""

    @property
    def address(self) -> str:
        """The address at which commands on this machine reach the gateway."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.cert_file or self.ca_file else 'http'}://{host}:{self.port}"
