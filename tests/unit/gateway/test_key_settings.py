"""The secrets of the gateway in the settings: read from the environment, never shown, and needed for clicks."""

import pytest
from pydantic import ValidationError

from streams.settings import CrawlSettings, GatewaySettings, Settings

CRAWL = CrawlSettings(contact_url="https://riffle.test/contact")


def test_secrets_come_from_the_environment_and_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIFFLE_GATEWAY__KEYS", '["' + "n" * 32 + '", "' + "o" * 32 + '"]')
    settings = Settings()
    assert [key.get_secret_value() for key in settings.gateway.keys] == ["n" * 32, "o" * 32]
    assert "nnnn" not in repr(settings)
    assert "nnnn" not in settings.model_dump_json()


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValidationError):
        GatewaySettings.model_validate({"keys": ["short"]})


def test_in_production_clicks_need_a_secret() -> None:
    with pytest.raises(ValidationError, match="RIFFLE_GATEWAY__KEYS"):
        Settings(profile="production", crawl=CRAWL, gateway=GatewaySettings(publish_clicks=True))
    assert Settings(crawl=CRAWL, gateway=GatewaySettings()).gateway.publish_clicks is False, "off by default"
