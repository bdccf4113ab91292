"""Checks that numbers of the documentation are true: defaults of settings, limits, times and ports are the code's.

A sentence of SENTENCES is made from the code's values, and must stand in its page. If a value changes, the test shows
the sentence to change. If a sentence is written anew, change it here, too.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from streams.admin.app import PORT
from streams.crawl.frontier.scheduling.ordering import STRANGER_SHARE
from streams.crawl.robots import MAX_ROBOTS_BYTES
from streams.dedup.first_sight import SIMILARITY
from streams.gateway.access.bucket import SPENDING_SECONDS
from streams.local.child_process import CRASH_LOGS, CRASH_SECONDS, LOG_BYTES
from streams.local.servers.kafka import RETENTION_BYTES
from streams.local.servers.server import BUSY_WEIGHT
from streams.local.supervision.watched import QUIET_SECONDS, REFUSALS, SERVER_SPIN_CPU_SECONDS, SPIN_CPU_SECONDS
from streams.pages.text.normal_forms import MAX_MARKS
from streams.runtime.brake import MAX_STRIKES, WATCHED_RECORDS
from streams.runtime.breaker import MAX_PROBE_SECONDS
from streams.runtime.faust_app import MAX_WAITING_EVENTS
from streams.runtime.health import START_STALLS
from streams.runtime.processing import LONG_DELAY, SHORT_ROUNDS
from streams.search.ranking.fusion import MEANING_WEIGHT, MEANING_WEIGHTS
from streams.search.request import MAX_QUERY_CHARS
from streams.settings import Settings
from streams.stores.protocols.queries import KEPT_DAYS
from streams.topology import PERSONAL_HOURS, STAGES, TOPICS, stage
from tests.rules.test_docs import PAGES, ROOT, name

HAND_WRITTEN = [page for page in PAGES if name(page) not in ("docs/reference/settings.md", "CHANGELOG.md")]
NUMBER = r"(?:\d[\d,]*)?\.?\d+"
STATED = [
    re.compile(rf"`RIFFLE_([A-Z0-9_]+)`\s\(({NUMBER})(?!\scharacters)[\s);:]"),
    re.compile(rf"`RIFFLE_([A-Z0-9_]+)`,\s({NUMBER})\sby\sdefault"),
    re.compile(rf"`RIFFLE_([A-Z0-9_]+)`\s[a-z]+\s\(default:\s({NUMBER})\)"),
    re.compile(r"`RIFFLE_([A-Z0-9_]+)(?:=true)?`,?\s(?:which\sis\s)?(off|on|empty)\sby\sdefault"),
]
TIMES = {2: "twice", 3: "three times"}
DAYS_OF_EVENTS = {topic.name: topic.retention_hours / 24 for topic in TOPICS}
RUNTIME, CRAWL, GATEWAY = Settings().runtime, Settings().crawl, Settings().gateway
SHORT_SECONDS = RUNTIME.retry_topic_delay_seconds
MINUTES = {60.0: "a minute"}
SENTENCES: list[tuple[str, str]] = [
    # the page, and a part of it
    ("concepts/reliability.md", f"whole stage waits, and tries again at most every {MAX_PROBE_SECONDS:g} seconds"),
    (
        "concepts/reliability.md",
        f"goes to `STAGE.retry` {TIMES[SHORT_ROUNDS]}, for {SHORT_SECONDS:g} seconds each, and then to "
        f"`STAGE.retry-long`, for {MINUTES[SHORT_SECONDS * LONG_DELAY]} each",
    ),
    (
        "concepts/reliability.md",
        f"without progress for `RIFFLE_RUNTIME__STALL_SECONDS` ({TIMES[START_STALLS]} that at a start)",
    ),
    ("concepts/reliability.md", f"at most {MAX_WAITING_EVENTS:,} events that it has not acknowledged"),
    ("concepts/reliability.md", f"After {WATCHED_RECORDS:,} records only suspects are noted"),
    ("concepts/reliability.md", f"A suspect during which the process ended {TIMES[MAX_STRIKES]}"),
    (
        "concepts/reliability.md",
        f"restarted after {TIMES[REFUSALS].split()[0]} red answers in a row, after {SPIN_CPU_SECONDS:g} s of CPU time "
        f"without an answer (a server {SERVER_SPIN_CPU_SECONDS:,.0f} s, Triton any), or after {QUIET_SECONDS:g} s",
    ),
    ("concepts/reliability.md", f"`RIFFLE_CRAWL__CLOCK_BOUND_SECONDS` ({CRAWL.clock_bound_seconds:g})"),
    (
        "concepts/reliability.md",
        f"The logs of its first {TIMES[CRASH_LOGS].split()[0]} crashes stay for {CRASH_SECONDS / 86_400:g} days",
    ),
    ("concepts/reliability.md", f"a log is rotated at {LOG_BYTES / 1e6:g} MB"),
    ("concepts/reliability.md", f"a partition of the local Kafka holds at most {RETENTION_BYTES / 2**30:g} GiB"),
    ("concepts/security.md", f"{MAX_ROBOTS_BYTES / 1024:g} KB, lines and groups"),
    ("concepts/security.md", f"{MAX_MARKS} combining marks in a row"),
    ("concepts/privacy.md", f"a retention of {PERSONAL_HOURS} hours and begins a file each hour"),
    ("concepts/privacy.md", f"Cassandra forgets them after {KEPT_DAYS} days"),
    ("concepts/privacy.md", f"`RIFFLE_QUERIES__MIN_PEOPLE` people (default: {Settings().queries.min_people})"),
    ("reference/dedup.md", f"have a Jaccard similarity of at least {SIMILARITY:g}"),
    ("reference/api.md", f"more than {MAX_QUERY_CHARS:,} characters"),
    ("reference/retrieval.md", f"of the model: {MEANING_WEIGHTS['multilingual-e5-small']} for"),
    ("reference/retrieval.md", f"and the pair with it, {MEANING_WEIGHT} for others"),
    ("operate/admin.md", f"serves them at `http://127.0.0.1:{PORT}/admin`"),
    ("reference/api.md", f"The gateway answers at `http://127.0.0.1:{GATEWAY.port}` in the local profile"),
]
"""Sentences with values of the code."""


def text_of(page: str) -> str:
    """The text of a page in one line."""
    return " ".join((ROOT / "docs" / page).read_text().split())


def default_of(setting: str) -> Any:
    """The default of a setting by its variable without `RIFFLE_`."""
    group, _, field = setting.lower().partition("__")
    found = Settings.model_fields[group]
    if field:
        found = found.annotation.model_fields[field]  # type: ignore[union-attr]  # the annotation is a group of settings
    return found.get_default(call_default_factory=True)


def stated_defaults(text: str) -> Iterator[tuple[str, Any]]:
    """The settings of a page with the default that it states."""
    for pattern in STATED:
        for setting, stated in pattern.findall(text):
            words = {"off": False, "on": True, "empty": ""}
            yield setting, words[stated] if stated in words else float(stated.replace(",", ""))


def is_stated(default: Any, stated: Any) -> bool:
    if stated in (False, ""):
        return not default
    return bool(default == stated)


def test_stated_defaults_are_the_defaults() -> None:
    stated = [(name(page), *found) for page in HAND_WRITTEN for found in stated_defaults(page.read_text())]
    assert len(stated) > 20
    wrong = [(page, setting, value) for page, setting, value in stated if not is_stated(default_of(setting), value)]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at most `RIFFLE_GATEWAY__PORT` (8,080) is used", [("GATEWAY__PORT", 8080.0)]),
        ("the weight\n`RIFFLE_KNOWLEDGE__CONFIDENCE` (4.0; 0 turns it off)", [("KNOWLEDGE__CONFIDENCE", 4.0)]),
        ("`RIFFLE_GATEWAY__AUTHORITY_WEIGHT` (.3)", [("GATEWAY__AUTHORITY_WEIGHT", 0.3)]),
        ("(`RIFFLE_ANSWERS__PER_PERSON`, 30 by default)", [("ANSWERS__PER_PERSON", 30.0)]),
        ("With `RIFFLE_QUERIES__COLLECT=true`, which is off by default, ", [("QUERIES__COLLECT", False)]),
        ("(`RIFFLE_CRAWL__SITEMAPS`, on by default)", [("CRAWL__SITEMAPS", True)]),
        ("`RIFFLE_HOME` (`.riffle`)", []),
        ("`RIFFLE_ADMIN__KEY` (24 characters or more)", []),
    ],
)
def test_what_counts_as_a_stated_default(text: str, found: list[tuple[str, Any]]) -> None:
    assert list(stated_defaults(text)) == found


@pytest.mark.parametrize(("page", "sentence"), SENTENCES)
def test_a_sentence_with_a_number_is_true(page: str, sentence: str) -> None:
    assert sentence in text_of(page)


def test_events_stay_for_a_week_and_dead_letters_for_90_days() -> None:
    """docs/concepts/reliability.md says so of all that no person is behind, and that is not compacted."""
    assert "Kafka deletes events after seven days (dead letters after 90)" in text_of("concepts/reliability.md")
    personal = {topic.name for topic in TOPICS if topic.personal}
    letters = {one.dead_topic for one in STAGES} - personal
    assert {DAYS_OF_EVENTS[topic] for topic in letters} == {90}
    inputs = {event.topic for one in STAGES for event in one.inputs} - personal
    assert {DAYS_OF_EVENTS[topic] for topic in inputs} == {7}
    assert max(DAYS_OF_EVENTS[topic] for topic in personal) < 1
    assert stage("queries").dead_topic in personal


def test_strangers_get_a_fifth_and_a_busy_machine_gets_half_an_hour() -> None:
    """docs/concepts: "may have a fifth of a host's budget", "half an hour on a busy one", "for three days"."""
    assert (STRANGER_SHARE, QUIET_SECONDS / BUSY_WEIGHT, SPENDING_SECONDS) == (0.2, 1_800.0, 3 * 86_400)
    assert "may have a fifth of a host's budget in a crawl" in text_of("concepts/security.md")
    assert "half an hour on a busy one" in text_of("concepts/reliability.md")
    assert "Cassandra has for three days how many work units" in text_of("concepts/privacy.md")
