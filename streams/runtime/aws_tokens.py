"""Tokens for AWS's managed Kafka (the mechanism AWS_MSK_IAM), without AWS's SDK.

A token is a signed URL of the action `kafka-cluster:Connect` (Signature Version 4), which the brokers ask AWS about;
clients hand it over by OAUTHBEARER. The keys that sign are the user name and the password of the settings, or keys of
the pod's role: AWS puts an address for them (EKS Pod Identity), or a token for its service STS (IRSA), into the pod's
environment. Keys of a role end after some hours, so they are asked for with each token.
"""

import asyncio
import hashlib
import hmac
import json
import os
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from streams.settings import KafkaSettings

if TYPE_CHECKING:
    from aiohttp import StreamReader

TOKEN_SECONDS = 900
"""Lifetime of a token (seconds): the longest that the brokers accept."""
ASK_SECONDS = 10.0
MAX_ANSWER_BYTES = 64 * 1024
"""Maximum size of an answer with keys (bytes)."""
POD_IDENTITY_HOSTS = ("169.254.170.23", "169.254.170.2", "fd00:ec2::23", "localhost", "127.0.0.1")
"""Hosts that may be asked for keys without encryption: they are on the same machine."""
_REGION = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?:")
_STS_FIELDS = (
    re.compile("<AccessKeyId>([^<]{1,8192})<"),
    re.compile("<SecretAccessKey>([^<]{1,8192})<"),
    re.compile("<SessionToken>([^<]{1,8192})<"),
)
"""The keys in an answer of STS (XML), in the order of `Keys`."""
_ALGORITHM, _SERVICE = "AWS4-HMAC-SHA256", "kafka-cluster"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a user or a role of AWS."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)
    """Only keys of a role have one."""


def region_of(bootstrap: str) -> str:
    """Return the region of the brokers, by their names. Raises ValueError."""
    found = _REGION.search(f"{bootstrap}:")
    if not found:
        raise ValueError(f"{bootstrap} has no name of AWS's brokers, such as b-1.NAME.kafka.eu-west-1.amazonaws.com")
    return found[1]


def signed_token(keys: Keys, region: str, now: datetime) -> str:
    """Return a token that is valid for `TOKEN_SECONDS` from now on."""
    host, stamp = f"kafka.{region}.amazonaws.com", now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{region}/{_SERVICE}/aws4_request"
    fields = {
        "Action": f"{_SERVICE}:Connect",
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(TOKEN_SECONDS),
        **({"X-Amz-Security-Token": keys.session_token} if keys.session_token else {}),
        "X-Amz-SignedHeaders": "host",
    }
    query = "&".join(f"{name}={quote(value, safe='-_.~')}" for name, value in sorted(fields.items()))
    request = "\n".join(["GET", "/", query, f"host:{host}", "", "host", hashlib.sha256(b"").hexdigest()])
    text = "\n".join([_ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{keys.secret_key}".encode()
    for part in (stamp[:8], region, _SERVICE, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), "sha256").hexdigest()
    url = f"https://{host}/?{query}&X-Amz-Signature={signature}&User-Agent=riffle"
    return urlsafe_b64encode(url.encode()).decode().rstrip("=")


async def find_keys(settings: KafkaSettings, environment: Mapping[str, str] = os.environ) -> Keys:
    """Return the keys of the settings or of the pod's role. Raises OSError, and ValueError for a useless answer."""
    if settings.sasl_username:
        return Keys(settings.sasl_username, str(settings.current_password()))
    if address := environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        place = urlsplit(address)
        if place.scheme != "https" and place.hostname not in POD_IDENTITY_HOSTS:
            raise ValueError(f"{address} would send keys of AWS unencrypted over a network")
        token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
        headers = {"Authorization": _line_of(token)} if token else {}
        content = json.loads(await _ask("GET", address, headers, {}))
        return Keys(str(content["AccessKeyId"]), str(content["SecretAccessKey"]), str(content["Token"]))
    role, file = environment.get("AWS_ROLE_ARN"), environment.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if not (role and file):
        raise ValueError(
            "the pod has no role of AWS: give its service account one, or set kafka.sasl_username and _password_file"
        )
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": role,
        "RoleSessionName": "riffle",
        "WebIdentityToken": _line_of(file),
    }
    region = environment.get("AWS_REGION") or region_of(settings.bootstrap)
    return keys_of_sts(await _ask("POST", sts_address(region), {}, form))


def sts_address(region: str) -> str:
    """Return the address of STS in a region. In China AWS has another domain."""
    return f"https://sts.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}/"


def _line_of(file: str) -> str:
    """Return a token that Kubernetes keeps in a file and renews there."""
    return Path(file).read_text().strip()


def keys_of_sts(answer: str) -> Keys:
    """Return the keys in an answer of STS. Raises ValueError without them."""
    found = [pattern.search(answer) for pattern in _STS_FIELDS]
    values = [each[1] for each in found if each]
    if len(values) < len(_STS_FIELDS):
        raise ValueError("the answer of STS has no keys")
    return Keys(*values)


async def _ask(method: str, address: str, headers: Mapping[str, str], form: Mapping[str, str]) -> str:
    import aiohttp  # 0.12 s of CPU time, and few installations have roles

    timeout = aiohttp.ClientTimeout(total=ASK_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, address, headers=headers, data=form or None, allow_redirects=False) as answer,
        ):
            if answer.status != 200:
                raise ValueError(f"{urlsplit(address).netloc} gave no keys: status {answer.status}")
            return (await read_whole(answer.content, MAX_ANSWER_BYTES)).decode()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise OSError(f"{urlsplit(address).netloc} gave no keys: {error or type(error).__name__}") from error


async def read_whole(content: "StreamReader", most: int) -> bytes:
    """Return a body, whose `read` would return what has come so far. Raises ValueError if it is too large."""
    found = bytearray()
    async for chunk in content.iter_any():
        found += chunk
        if len(found) > most:
            raise ValueError(f"the answer has more than {most:,} bytes")
    return bytes(found)


async def new_token(settings: KafkaSettings) -> tuple[str, float]:
    """Return a token, and its lifetime (seconds). Raises OSError and ValueError, as for `find_keys`."""
    try:
        keys = await find_keys(settings)
    except (KeyError, TypeError) as error:
        raise ValueError(f"the answer with the keys of the pod's role lacks {error}") from error
    return signed_token(keys, region_of(settings.bootstrap), datetime.now(UTC)), float(TOKEN_SECONDS)


def token_callback(settings: KafkaSettings) -> Callable[[str], tuple[str, float]]:
    """Return librdkafka's callback for a token: a function of its configuration. It may run in any thread.

    Raises OSError and ValueError, as for `find_keys`: librdkafka waits ten seconds for a token, and says no reason.
    """

    def refresh(_: str) -> tuple[str, float]:
        # The thread may have a running event loop, which can't run a second one.
        with ThreadPoolExecutor(1) as pool:
            token, seconds = pool.submit(asyncio.run, new_token(settings)).result()
        return token, datetime.now(UTC).timestamp() + seconds

    refresh("")
    return refresh
