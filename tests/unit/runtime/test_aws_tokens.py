"""Tokens for AWS's managed Kafka: those of AWS's own library, and keys from each place. No cluster of AWS is asked."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web
from aiokafka.errors import KafkaConnectionError
from confluent_kafka.admin import AdminClient
from faust.auth import OAuthCredentials

from streams.doctor.kafka import check_brokers
from streams.errors import KafkaAway
from streams.local.ports import free_ports
from streams.runtime.aws_tokens import (
    MAX_ANSWER_BYTES,
    TOKEN_SECONDS,
    Keys,
    find_keys,
    keys_of_sts,
    region_of,
    signed_token,
    sts_address,
)
from streams.runtime.connection import client_config, client_options
from streams.runtime.faust_app import new_app
from streams.runtime.sign_in import TokenProvider
from streams.settings import KafkaSettings, Settings
from streams.topology import STAGES

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BROKERS = "b-1.riffle.a1b2c3.c2.kafka.eu-west-1.amazonaws.com:9098"

SIGNATURES = [
    # the session token, and the signature of aws-msk-iam-sasl-signer-python 1.0.2 (botocore 1.44.8) at NOW in eu-west-1
    ("", "7cc178453342e479def8e0e69cbff443ca929b5b0426af0f4b64554172c7195d"),
    ("a/session+token==", "8c2a4dd1289fe3183dbe275938ba1db1848892a69df026ccf44451bcda453584"),
]


@pytest.mark.parametrize(("session_token", "signature"), SIGNATURES)
def test_a_token_is_that_of_awss_own_library(session_token: str, signature: str) -> None:
    token = signed_token(Keys("AKIDEXAMPLE", SECRET, session_token), "eu-west-1", NOW)
    assert "=" not in token
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    assert (url.scheme, url.netloc, url.path) == ("https", "kafka.eu-west-1.amazonaws.com", "/")
    fields = {name: value for name, (value,) in parse_qs(url.query).items()}
    assert fields["Action"] == "kafka-cluster:Connect"
    assert fields["X-Amz-Credential"] == "AKIDEXAMPLE/20260102/eu-west-1/kafka-cluster/aws4_request"
    assert fields["X-Amz-Expires"] == str(TOKEN_SECONDS) == "900"
    assert fields.get("X-Amz-Security-Token", "") == session_token
    assert fields["X-Amz-Signature"] == signature
    assert SECRET not in url.query


REGIONS = [
    (BROKERS, "eu-west-1"),
    ("boot-abc.c1.kafka-serverless.us-east-2.amazonaws.com:9098", "us-east-2"),
    (f"other.example:9098,{BROKERS}", "eu-west-1"),
    ("kafka.example:9098", None),
    ("b-1.kafka.eu-west-1.amazonaws.com.evil.example:9098", None),
]


@pytest.mark.parametrize(("bootstrap", "region"), REGIONS)
def test_the_region_is_in_the_brokers_names(bootstrap: str, region: str | None) -> None:
    if region:
        assert region_of(bootstrap) == region
    else:
        with pytest.raises(ValueError, match="no name of AWS's brokers"):
            region_of(bootstrap)


def kafka(tmp_path: Path, *, key: bool) -> KafkaSettings:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    by_key = {"sasl_username": "AKIDEXAMPLE", "sasl_password_file": secret} if key else {}
    return KafkaSettings(
        bootstrap=BROKERS,
        security_protocol="SASL_SSL",
        sasl_mechanism="AWS_MSK_IAM",
        **by_key,
    )


async def test_the_keys_of_the_settings_come_first(tmp_path: Path) -> None:
    found = await find_keys(kafka(tmp_path, key=True), {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:9/"})
    assert found == Keys("AKIDEXAMPLE", SECRET)


def test_a_key_that_is_written_down_shows_no_secret() -> None:
    assert repr(Keys("AKIDEXAMPLE", SECRET, "a/session+token==")) == "Keys(access_key='AKIDEXAMPLE')"


@asynccontextmanager
async def agent(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """An agent of EKS Pod Identity on this node. Yields its address."""
    application = web.Application()
    application.router.add_get("/v1/credentials", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    (port,) = free_ports(1)
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


async def test_the_role_of_a_pod_gives_keys_to_whom_has_its_token(tmp_path: Path) -> None:
    """EKS Pod Identity: an agent on the node, asked with the token in a file."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.headers["Authorization"])
        return web.json_response({"AccessKeyId": "ASIA", "SecretAccessKey": "s", "Token": "t", "Expiration": "later"})

    (tmp_path / "token").write_text("of-the-pod\n")
    async with agent(answer) as address:
        found = await find_keys(
            kafka(tmp_path, key=False),
            {
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{address}/v1/credentials",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(tmp_path / "token"),
            },
        )
        assert found == Keys("ASIA", "s", "t")
        assert asked == ["of-the-pod"]
        with pytest.raises(ValueError, match="gave no keys: status 404"):
            await find_keys(kafka(tmp_path, key=False), {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{address}/other"})


ANSWER = json.dumps({"AccessKeyId": "ASIA", "SecretAccessKey": "s", "Token": "t"}).encode()


async def test_an_answer_that_comes_in_parts_is_read_to_its_end(tmp_path: Path) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for part in (ANSWER[:20], ANSWER[20:]):
            await response.write(part)
            await asyncio.sleep(0.05)
        return response

    async with agent(answer) as address:
        found = await find_keys(
            kafka(tmp_path, key=False), {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{address}/v1/credentials"}
        )
    assert found == Keys("ASIA", "s", "t")


async def test_an_answer_without_an_end_is_refused(tmp_path: Path) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=b" " * MAX_ANSWER_BYTES + ANSWER)

    async with agent(answer) as address:
        with pytest.raises(ValueError, match="more than 65,536 bytes"):
            await find_keys(
                kafka(tmp_path, key=False), {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{address}/v1/credentials"}
            )


def test_sts_has_another_domain_in_china() -> None:
    assert sts_address("eu-west-1") == "https://sts.eu-west-1.amazonaws.com/"
    assert sts_address("cn-north-1") == "https://sts.cn-north-1.amazonaws.com.cn/"


STS = """<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><SessionToken>t/1==</SessionToken><SecretAccessKey>s</SecretAccessKey><AccessKeyId>ASIA</AccessKeyId></Credentials>
</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""


def test_an_answer_of_sts_is_read() -> None:
    assert keys_of_sts(STS) == Keys("ASIA", "s", "t/1==")
    with pytest.raises(ValueError, match="no keys"):
        keys_of_sts("<Error><Code>AccessDenied</Code></Error>")


WITHOUT: list[tuple[dict[str, str], str]] = [
    ({}, "the pod has no role of AWS"),
    ({"AWS_ROLE_ARN": "arn:aws:iam::1:role/riffle"}, "the pod has no role of AWS"),
    ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://keys.example/"}, "unencrypted over a network"),
]


@pytest.mark.parametrize(("environment", "says"), WITHOUT)
async def test_without_keys_it_says_why(environment: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        await find_keys(kafka(tmp_path, key=False), environment)


def test_librdkafka_asks_for_a_token(tmp_path: Path) -> None:
    """Its client calls for one at its start, also where no broker answers."""
    (port,) = free_ports(1)
    config = client_config(kafka(tmp_path, key=True))
    asked: list[str] = []

    def noted(given: str) -> tuple[str, float]:
        token, until = config["oauth_cb"](given)
        asked.append(token)
        return token, until

    client = AdminClient({**config, "oauth_cb": noted, "bootstrap.servers": f"127.0.0.1:{port}"})
    client.poll(1)
    assert config["sasl.mechanism"] == "OAUTHBEARER"
    assert asked
    assert base64.urlsafe_b64decode(asked[0] + "==").startswith(b"https://kafka.eu-west-1.amazonaws.com/?")


def test_a_client_without_keys_is_not_made_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka's own would wait ten seconds, and raise an error without the reason."""
    own = kafka(tmp_path, key=False)
    with pytest.raises(KafkaAway, match="no token of AWS: the pod has no role of AWS"):
        client_config(own)
    monkeypatch.setattr("streams.doctor.kafka.refused", lambda _: "")  # the brokers' port is open
    (found,) = check_brokers(Settings(kafka=own))
    assert "There is no token of AWS (the pod has no role of AWS" in str(found)


async def test_aiokafka_gets_tokens_and_takes_a_missing_one_for_a_broker_that_is_away(tmp_path: Path) -> None:
    options = client_options(kafka(tmp_path, key=True))
    assert options["sasl_mechanism"] == "OAUTHBEARER"
    provider = options["sasl_oauth_token_provider"]
    assert await provider.token() == await provider.token(), "one is kept"
    with pytest.raises(KafkaConnectionError, match="the pod has no role of AWS"):
        await client_options(kafka(tmp_path, key=False))["sasl_oauth_token_provider"].token()


def test_a_worker_signs_in_by_these_tokens(tmp_path: Path) -> None:
    found = new_app(STAGES[0], Settings(kafka=kafka(tmp_path, key=True))).conf.broker_credentials
    assert isinstance(found, OAuthCredentials)
    assert isinstance(found.oauth_cb, TokenProvider)


INCOMPLETE = [{"sasl_username": "AKIDEXAMPLE"}, {"sasl_password_file": "x"}, {"sasl_token_url": "https://t.example/"}]


@pytest.mark.parametrize("fields", INCOMPLETE, ids=json.dumps)
def test_half_a_key_is_refused(fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"kafka\.sasl_"):
        KafkaSettings.model_validate(
            {"security_protocol": "SASL_SSL", "sasl_mechanism": "AWS_MSK_IAM", "bootstrap": BROKERS, **fields}
        )
