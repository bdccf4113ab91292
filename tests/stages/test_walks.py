"""The tables "A page as data" and "A query as data" of docs/concepts/architecture.md, compared with traces.

Each row has a file, types of values that its functions get, and types of values that they return. The rows are in the
order in which the journey enters the files.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.stages.call_trace import ValueTrace
from tests.stages.walked import walk

ARCHITECTURE = Path(__file__).parents[2] / "docs/concepts/architecture.md"
MAX_FILES_OF_A_PAGE = 120
"""Maximum files that a small page enters, from `pages.fetched` to `pages.indexed`."""
MAX_FILES_OF_A_QUERY = 102
"""Maximum files that a query enters, from HTTP to HTML, templates included."""
TOO_MANY = """{name} enters {count} files, at most {most}: a newcomer opens each of them to follow it. Put the new code
into a file that {name} enters anyway, or make one file of two that are always entered together. Raise the bound only
for a step that needs a file of its own."""
ROW = re.compile(r"^\| \[`[^`]+`\]\(\.\./\.\./streams/([^)]+)\) \| (.+) \| (.+) \|$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Row:
    file: str
    given: frozenset[str]
    returned: frozenset[str]


def rows_below(heading: str) -> list[Row]:
    section = ARCHITECTURE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [
        Row(file, frozenset(NAME.findall(given)), frozenset(NAME.findall(returned)))
        for file, given, returned in ROW.findall(section)
    ]


def faults_of(rows: Sequence[Row], trace: ValueTrace) -> list[str]:
    """Return what the table says and the trace does not."""
    places = {file: place for place, file in enumerate(trace.given)}
    faults, last = [], -1
    for row in rows:
        if row.file not in places:
            faults.append(f"{row.file}: it is not entered")
            continue
        if places[row.file] < last:
            faults.append(f"{row.file}: it is entered before the file of the row above")
        last = places[row.file]
        if missing := row.given - trace.given[row.file]:
            faults.append(f"{row.file}: no function gets {sorted(missing)}, but {sorted(trace.given[row.file])}")
        if missing := row.returned - trace.returned[row.file]:
            faults.append(f"{row.file}: no function returns {sorted(missing)}, but {sorted(trace.returned[row.file])}")
    return faults


def assert_few_files(name: str, trace: ValueTrace, most: int) -> None:
    assert len(trace.given) <= most, TOO_MANY.format(name=name, count=len(trace.given), most=most)


def test_a_page_as_data() -> None:
    crawled, indexed = walk("page")
    rows = rows_below("A page as data")
    of_crawl = [row for row in rows if row.file.startswith("crawl/")]
    others = rows[len(of_crawl) :]
    assert len(of_crawl) >= 3
    assert len(others) >= 15
    assert faults_of(of_crawl, crawled) == []
    assert faults_of(others, indexed) == []
    assert_few_files("a page", indexed, MAX_FILES_OF_A_PAGE)


def test_a_query_as_data() -> None:
    (trace,) = walk("query")
    rows = rows_below("A query as data")
    assert len(rows) >= 15
    assert faults_of(rows, trace) == []
    assert_few_files("a query", trace, MAX_FILES_OF_A_QUERY)
