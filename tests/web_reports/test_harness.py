"""The program that runs situations of the web against the crawler."""

import subprocess
import sys
from pathlib import Path

SITUATIONS = """
from harness import *
from streams.crawl.unavailable_after import is_expired  # a former name

@case("link", "https://reports.example/1", "a link", ["https://site.example/x"], "HTML")
def _():
    return links("<p><a href='/x'>x</a>")

@case("fetched", "https://reports.example/2", "a page of a server", "ok", "HTTP")
async def _():
    return (await fetch1(response(b"<p>hi"))).verdict.outcome

@case("wrong", "https://reports.example/3", "robots.txt closes it", True, "RFC 9309")
def _():
    return allowed("User-agent: *\\nDisallow: /x", "/x")
"""


def test_situations_are_run_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "situations.py"
    file.write_text(SITUATIONS)
    done = subprocess.run(
        [sys.executable, "-m", "tests.web_reports.harness", str(file)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "ok   link", "ok   fetched", "FAIL wrong", "       expect True", "       actual 'False'", "2 of 3 held",
    ], done.stderr  # fmt: skip
    assert done.returncode == 1
