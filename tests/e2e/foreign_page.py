"""A page of another origin that searches with the gateway: by the box of a site, and by a script that asks the API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.responses import HTMLResponse

from streams.commands.operate.access import box_of
from streams.stores.protocols import Site
from tests.e2e.demo import demo_stores, served
from tests.stages.gateway_fakes import gateway

SITE = Site("handbook", "the SQLite handbook", ("sqlite.org",))
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Our handbook</title>
<style>body {{ font: 1.1rem Georgia, serif; max-width: 40rem; margin: 2rem auto; background: #fbf7ef; color: #222 }}
form {{ border: 1px solid #c9bfa8; padding: 1rem }} input, button {{ font: inherit }}</style>
<h1>Our handbook</h1>
<p>This page belongs to another site. The box below was printed when the site was made.</p>
{box}
<ul id="found"></ul>
<script>
  var ended = "";
  const ask = async (query) => {{
    const answer = await fetch("{gateway}/api/v1/search?include=sqlite.org&q=" + encodeURIComponent(query));
    document.querySelector("#found").replaceChildren(...(await answer.json()).results.map((one) => {{
      const item = document.createElement("li");
      item.textContent = one.title;
      return item;
    }}));
  }};
</script></html>"""


@dataclass(slots=True)
class ForeignPage:
    """The address of the page, and of the gateway."""

    address: str
    gateway: str


@asynccontextmanager
async def foreign_page(*, allowed: bool) -> AsyncIterator[ForeignPage]:
    """Serve the page at an origin of its own. `allowed`: the gateway lets scripts of that origin ask its API."""
    other, page = FastAPI(), {"text": ""}

    @other.get("/")
    def show() -> HTMLResponse:
        return HTMLResponse(page["text"])

    stores = await demo_stores()
    await stores.api_keys.put_site(SITE, 1)
    async with served(other) as address:
        origins = {"cors_origins": (address,)} if allowed else {}
        app = gateway(stores, deadline_seconds=30, limits=origins)
        async with served(app) as site:
            page["text"] = PAGE.format(box=box_of(SITE, site), gateway=site)
            yield ForeignPage(address, site)
        await app.state.gateway.close()
