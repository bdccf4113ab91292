"""The settings of what the gateway answers beside results, and of what it counts."""

from ipaddress import ip_network
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from streams.credentials import current_secret
from streams.settings.groups import SettingsGroup


class AnswersSettings(SettingsGroup):
    """Answers by a language model. They are off by default: without `url`, no model is asked.

    Statements of the results and the question are sent to the server at `url`. Tell the people who search
    (docs/concepts/privacy.md).
    """

    url: str = Field("", pattern=r"^(https?://[^\s?#<>\"']+)?$")
    """Address of a server with the API of OpenAI, up to its version: `http://127.0.0.1:8000/v1`. Empty: no model."""
    model: str = "default"
    """Name of the model, as the server knows it."""
    key_file: Path | None = None
    """File with the server's API key, such as the one that `riffle models serve` makes. It is read before each request.
    Default: no key."""
    ca_file: Path | None = None
    """PEM file with the authority that signed the server's certificate. Default: the authorities of the system."""
    deadline_seconds: float = Field(15.0, gt=0, allow_inf_nan=False)
    """Maximum duration of an answer by a model. The results never wait for it."""
    prose_tokens: int = Field(0, ge=0, le=4_096)
    """Maximum tokens that the model writes about one page in its own words. 0: it chooses statements, which are shown
    word for word. Its own words are marked, and only their numbers and names are compared."""
    per_person: int = Field(30, ge=0)
    """Answers by a model that a person gets at once; an hour fills this budget again. 0: any number. All gateways
    with the same `RIFFLE_GATEWAY__KEYS` share it."""
    per_hour: int = Field(1_000, ge=0)
    """Answers by a model in an hour, of all gateways together. 0: any number."""

    def current_key(self) -> str:
        """Return the key as it is now. Raises UsageError if the file was never readable."""
        return current_secret(self.key_file)


class QueriesSettings(SettingsGroup):
    """The collection of everybody's queries. It is off by default."""

    collect: bool = False
    """Count queries, for suggestions. Each is in Kafka for a day at most, with a hash of the person that has another
    key each day. Counts are stored of queries that enough people asked on one day. Needs `RIFFLE_GATEWAY__KEYS`.
    Tell the people who search (docs/concepts/privacy.md)."""
    min_people: int = Field(10, ge=2)
    """Number of people who must ask a query on one day before its counts of that day are stored."""
    blocked_words: tuple[Path, ...] = ()
    """Files with words and phrases, one a line, that no suggestion has, for workers, builds and gateways. `#` begins
    a comment."""
    word_sites: int = Field(3, ge=1)
    """Number of sites (registrable domains) that must have a word which only the index knows, before a query is
    corrected to it. 1: for an index of your own documents."""


class AccessSettings(SettingsGroup):
    """Who may use the API, and how much. A plain search costs a work unit of a budget (docs/reference/gateway.md)."""

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
    authorization_server: str = Field("", pattern=r"^(https?://\S+)?$")
    """Issuer of the OAuth tokens that a reverse proxy checks before `/mcp`, such as `https://login.example.org`.
    Assistants learn it from the gateway (RFC 9728). Empty: none."""
    private_sites: bool = False
    """There are sites whose pages only their own keys find (`riffle sites add --private`). The gateway then answers
    nobody until it has read the sites once."""
    fetch_now: Literal["nobody", "keys", "everybody"] = "keys"
    """Who may have a page fetched that is not indexed (`/api/v1/extract`, within the rules of the crawler): nobody,
    keys with the scope `extract`, or everybody."""

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, networks: tuple[str, ...]) -> tuple[str, ...]:
        for network in networks:
            ip_network(network, strict=False)
        return networks


class KnowledgeSettings(SettingsGroup):
    panels: bool = True
    """Show panels of entities beside results. Without imported entities, none is ever looked for."""
    confidence: float = Field(0.5, ge=0, le=1)
    """Minimum probability that a panel is about what was asked."""
