"""axe-core in the browser: the rules of accessibility that a program can judge, as its makers keep them.

It comes with a package whose own driver of browsers is not installed, so its file is read, and nothing is imported. It
needs timers, so the scripts of the page are on while it runs; the pages have none that could run.
"""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.e2e.browser import Tab

_RUN = """axe.run(document, {resultTypes: ['violations']}).then(found => JSON.stringify(
  found.violations.map(rule => rule.id + ': ' + rule.help + ': ' + rule.nodes.map(node => node.html.slice(0, 120)))))"""


@cache
def source() -> str:
    """Return axe-core, one script. Its version is in the first line."""
    spec = find_spec("axe_playwright_python")
    assert spec is not None, "`make setup` installs requirements/browser.txt"
    assert spec.origin is not None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


async def violations(tab: Tab) -> list[str]:
    """Return the violations on the page as it is shown now, each with its elements."""
    await tab.command("Emulation.setScriptExecutionDisabled", value=False)
    try:
        await tab.command("Runtime.evaluate", expression=source())
        answer = await tab.command("Runtime.evaluate", expression=_RUN, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        found: list[str] = json.loads(answer["result"]["value"])
        return found
    finally:
        await tab.command("Emulation.setScriptExecutionDisabled", value=True)
