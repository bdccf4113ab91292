"""The settings: each has a test that sets it and a page that says when to set it, and there are few."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest
from pydantic import BaseModel

from streams.settings import Settings

ROOT = Path(__file__).parents[2]
MOST = 150
"""Maximum number of settings. Who adds one takes one away: what nobody can know when to set is a constant."""
_IN_FAKES = {"gateway": "gateway|limits"}
"""The argument of the fakes that is a group of settings, too."""
_ARGUMENT = re.compile(r"\b([a-z]\w*)\"?(?:=(?!=)|: )")
"""A keyword, or a key of a dict."""
_BRACES = re.compile(r"RIFFLE_(?:[A-Z0-9_]|\{[A-Z_,]+\})+")


def all_settings() -> Iterator[tuple[str, str]]:
    """Yield each setting, `group.name` or `name`, with the name of the class that has it."""
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from ((f"{name}.{inner}", kind.__name__) for inner in kind.model_fields)
        else:
            yield name, "Settings"


SETTINGS = dict(all_settings())
NAMES = Counter(setting.rpartition(".")[2] for setting in SETTINGS)
COMMON = {"anonymous", "host", "key", "languages", "model", "panels", "port", "profile", "suggestions", "url"}
"""Names that other things have, too: their test names the group or the variable."""


def variable(setting: str) -> str:
    return f"RIFFLE_{setting.replace('.', '__')}".upper()


def text_of(paths: Iterable[Path]) -> str:
    return "\n".join(path.read_text() for path in sorted(paths))


def set_by(tests: str) -> set[str]:
    """Return the settings that tests set: by variable, as arguments of their class, or by a name that only one has."""
    given = set(_ARGUMENT.findall(tests)) - COMMON
    classes = {kind: _arguments(tests, rf"\b{kind}\(((?:[^()]|\([^()]*\))*)\)") for kind in set(SETTINGS.values())}
    groups = {each.partition(".")[0] for each in SETTINGS if "." in each}
    names = {group: _IN_FAKES.get(group, group) for group in groups}
    groups_given = {group: _arguments(tests, rf"\b(?:{names[group]})=\{{([^}}]*)\}}") for group in groups}
    named, found = variables_in(tests), set()
    for setting, kind in SETTINGS.items():
        group, _, name = setting.rpartition(".")
        by_name = name in given and NAMES[name] == 1
        by_class = name in classes[kind] or name in groups_given.get(group, ())
        if by_name or by_class or variable(setting) in named:
            found.add(setting)
    return found


def _arguments(tests: str, pattern: str) -> set[str]:
    return {name for inside in re.findall(pattern, tests) for name in _ARGUMENT.findall(inside)}


def variables_in(text: str) -> set[str]:
    """Return the variables in a text: `RIFFLE_{KAFKA,QDRANT}__CA_FILE` are two."""
    found = set()
    for named in _BRACES.findall(text):
        parts = [part.strip("{}").split(",") for part in re.findall(r"\{[^}]+\}|[^{]+", named)]
        found |= {"".join(chosen).rstrip("_") for chosen in product(*parts)}
    return found


def test_there_are_few_settings() -> None:
    assert len(SETTINGS) <= MOST, f"{len(SETTINGS)} settings: who adds one takes one away"


def test_a_test_sets_each_setting() -> None:
    tests = text_of(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    known = set_by(tests)
    untested = [setting for setting in SETTINGS if setting not in known]
    assert untested == [], "no test shows what another value of these changes: add one, or make them constants"


def test_a_page_says_when_to_set_each_setting() -> None:
    docs, chart = ROOT / "docs", ROOT / "helm" / "riffle"
    pages = [page for page in docs.rglob("*.md") if page != docs / "reference" / "settings.md"]
    values = [chart / "values.yaml", *(chart / "templates").glob("*.*")]
    named = variables_in(text_of([*pages, *values]))
    unsaid = [variable(setting) for setting in SETTINGS if variable(setting) not in named]
    assert unsaid == [], "no page but settings.md, and no value of the chart, says when to set these"


@pytest.mark.parametrize(
    ("setting", "test", "found"),
    [
        ("crawl.in_flight", "World(in_flight=3)", True),
        ("crawl.in_flight", "World(in_flight == 3)", False),
        ("kafka.ca_file", 'KafkaSettings(bootstrap=str("x"), ca_file=path)', True),
        ("kafka.ca_file", "QdrantSettings(ca_file=path)", False),
        ("kafka.ca_file", 'Settings(kafka={"ca_file": path})', True),
        ("gateway.port", 'monkeypatch.setenv("RIFFLE_GATEWAY__PORT", "0")', True),
        ("gateway.port", "listen(port=0)", False),
    ],
)
def test_what_counts_as_a_test(setting: str, test: str, found: bool) -> None:
    assert (setting in set_by(test)) is found


def test_a_page_may_name_several_at_once() -> None:
    named = variables_in("`RIFFLE_{KAFKA,QDRANT}__{CA,CERT}_FILE` and RIFFLE_HOME")
    groups = {f"RIFFLE_{group}__{file}_FILE" for group in ("KAFKA", "QDRANT") for file in ("CA", "CERT")}
    assert named == {*groups, "RIFFLE_HOME"}
