"""The package for npm against a running gateway: the example of the guide, and the signature of a webhook."""

import asyncio
import json
import re
import time
from pathlib import Path

import pytest

from streams.hooks.signing import headers_of
from tests.clients import NODE_PROGRAMS, ROOT, needs_tools, run
from tests.clients.test_compile import OPTIONS, npm
from tests.stages.gateway_fakes import gateway
from tests.stages.test_gateway_content import URL, filled
from tests.stages.test_gateway_limits import Patient, serving

__all__ = ["npm"]
pytestmark = needs_tools
(EXAMPLE,) = re.findall(r"```js\n(.*?)```", (ROOT / "docs" / "guide" / "programs.md").read_text(), re.DOTALL)
SECRET = "whsec_" + "c2VjcmV0" * 6
VERIFY = """
import { verify } from "@riffle-search/client";

const { body, headers, secret } = JSON.parse(process.argv[2]);
console.log((await verify(body, headers, [secret, process.argv[3]])).id);
"""


async def test_the_example_of_the_guide_asks_a_gateway(npm: Path) -> None:
    (npm / "example.mjs").write_text(EXAMPLE)
    (npm / "node.d.ts").write_text("declare const process: { env: Record<string, string | undefined> };\n")
    run(NODE_PROGRAMS / "tsc", *OPTIONS, "--allowJs", "--checkJs", "example.mjs", "node.d.ts", folder=npm)
    app = gateway(await filled(), allowed_hosts=("127.0.0.1",), deadline_seconds=60)
    async with serving(app, protocol=Patient) as port:
        address = f"http://127.0.0.1:{port}"
        printed = await asyncio.to_thread(run, "node", "example.mjs", folder=npm, GATEWAY=address, KEY="")
        await app.state.gateway.close()
    assert URL in printed


@pytest.mark.parametrize(
    ("seconds", "secret", "valid"), [(0, SECRET, True), (-400, SECRET, False), (0, SECRET[::-1][:-6], False)]
)
def test_a_signature(npm: Path, seconds: int, secret: str, valid: bool) -> None:
    body = b'{"id": "7"}'
    headers = headers_of("7", body, [SECRET], int((time.time() + seconds) * 1e6))
    (npm / "verify.mjs").write_text(VERIFY)
    given = json.dumps({"body": body.decode(), "headers": headers, "secret": secret})
    printed = run("node", "verify.mjs", given, "whsec_b3RoZXI=", folder=npm, fails=not valid)
    assert ("7\n" in printed) is valid
