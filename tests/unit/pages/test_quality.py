"""The quality of pages: made spam of four kinds beside the pages of the bundled web, and what each part is about."""

import re
import tarfile
from io import BytesIO
from itertools import islice

import numpy as np
import pytest
import zstandard

from benchmarks.documents.spam_pages import KINDS, spam_pages
from streams.crawl.host_quality import HostRecord, budget_factor, describe_host_quality, host_quality, judge_host
from streams.local.demo import ARCHIVE
from streams.pages.document.model import Document
from streams.pages.normalize import Normalized, normalize
from streams.pages.quality import INCOHERENCE, Quality, assess, text_features, text_parts
from streams.search.ranking.priors import lack_of_quality
from streams.stores.page_quality import scale

URL = "https://site.example/page"
PAGES, SPAM = 120, 200
MIN_SHARE = 0.9
"""Minimum share of spam pages below the lowest tenth of real pages."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
PROSE = (
    "The tide is the rise and fall of the sea. The Moon and the Sun cause it together, and the shape of each coast "
    "changes it. At spring tide both pull in one line, so that the sea rises higher than on other days. A neap tide "
    "follows a week later, when the Moon is in its quarter: the sea then rises least. Sailors read the height of the "
    "sea in tables, which list each high and low tide of a harbour. On open coasts a tide is a metre or two, but in "
    "a narrow bay the water of a tide has less room, and it may rise by more than ten metres above its lowest height."
)


def quality_of(html: str) -> Quality:
    found = normalize(html, url=URL)
    return assess(found.document, found.counts)


def bundled_pages(count: int) -> list[Normalized]:
    """Some pages of the bundled web, spread evenly."""
    with zstandard.open(ARCHIVE, "rb") as packed:
        content = BytesIO(packed.read())
    with tarfile.open(fileobj=content) as archive:
        names = sorted(name for name in archive.getnames() if name.endswith(".html"))
        chosen = names[:: max(len(names) // count, 1)][:count]
        files = [(name, archive.extractfile(name)) for name in chosen]
        return [normalize(file.read(), url=f"https://{name}") for name, file in files if file]


def sentences_of(documents: list[Document]) -> list[str]:
    texts = (block.text for document in documents for block in document.blocks if block.tag == "p")
    return [part for text in texts for part in _SENTENCE_END.split(text) if 40 < len(part) < 250]


@pytest.mark.night
def test_nine_of_ten_made_spam_pages_are_below_the_lowest_tenth_of_real_pages() -> None:
    real = bundled_pages(PAGES)
    scores = [assess(page.document, page.counts).score for page in real]
    lowest_tenth = float(np.percentile(scores, 10))
    spam = spam_pages(sentences_of([page.document for page in real]), SPAM, seed=4)
    below: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for kind, html in spam:
        below[kind].append(quality_of(html).score < lowest_tenth)
    shares = {kind: float(np.mean(found)) for kind, found in below.items()}
    assert min(shares.values()) >= MIN_SHARE, shares
    assert float(np.median(scores)) == 1.0, "nothing is found against most real pages"


PARTS = [
    # a part, and a page that has a low one
    ("stuffing", f"<p>{PROSE}</p>" + "<p>cheap insurance online " * 40),
    ("repetition", "<p>" + "Call our team in this town, since our team in this town is the best of all. " * 12),
    ("links", "".join(f"<p><a href=/{n}>A link number {n} to somewhere else</a></p>" for n in range(30))),
    ("hidden", f"<p>{PROSE}</p><div hidden>{PROSE * 20}</div>"),
    ("ads", f"<p>{PROSE}</p>" + "<ins class=adsbygoogle></ins>" * 40),
    ("prose", "".join(f"<p>{' '.join(f'term{n * m}x' for m in range(12))}</p>" for n in range(20))),
    (
        "cohesion",
        "".join(f"<p>{' '.join(f'{chr(97 + n % 26)}word{n}q{m}' for m in range(40))}.</p>" for n in range(20)),
    ),
]


@pytest.mark.parametrize(("part", "html"), PARTS, ids=[part for part, _ in PARTS])
def test_each_part_falls_on_a_page_that_is_made_so(part: str, html: str) -> None:
    assert quality_of(html).parts[part] < 0.8
    assert quality_of(f"<p>{PROSE}</p>").parts[part] == 1.0


MIXED = (
    "The harbour office lists each vessel that waits outside. A violin needs new strings after some months. Farmers "
    "plough heavy clay before winter frost arrives. The committee published minutes yesterday evening. Bread rises "
    "faster near warm ovens. Glaciers carve valleys with steep walls. Most lawyers charge clients hourly. Young "
    "penguins moult during their second summer. Copper wires conduct current better than iron. Her novel describes "
    "three sisters from Lisbon. Trains towards Vienna leave every morning. Bees find nectar by colour and smell. "
    "Ancient coins carried portraits of emperors. Painters mix pigments with linseed oil."
)


def test_sentences_without_a_common_subject_lose_and_sentences_about_one_do_not() -> None:
    assert quality_of(f"<p>{MIXED}</p>").parts["cohesion"] < 0.9
    assert quality_of(f"<p>{PROSE}</p>").parts["cohesion"] == 1.0


def test_a_text_with_few_sentences_is_judged_by_its_parts() -> None:
    features = text_features(normalize(f"<p>{PROSE.replace('. ', ', ')}</p>", url=URL).document)
    assert features
    assert features.nearness is None
    assert text_parts(features)["cohesion"] == scale(features.cohesion, INCOHERENCE)


def test_a_short_page_has_no_parts_of_its_text() -> None:
    found = quality_of("<p>Ten words are too few for any statistics about them.</p>")
    assert (found.score, set(found.parts)) == (1.0, {"own_text", "hidden", "links", "ads"})


def test_every_part_and_the_quality_are_between_0_and_1() -> None:
    for _, html in islice(spam_pages(PROSE.split(". "), 40, seed=2), 40):
        found = quality_of(html)
        assert all(0 <= value <= 1 for value in (found.score, *found.parts.values()))


def test_only_pages_below_the_minimum_lose() -> None:
    assert [lack_of_quality(quality, 0.5) for quality in (1.0, 0.5, 0.25, 0.0)] == [0, 0, 0.5, 1]
    assert lack_of_quality(0.0, 0.0) == 0


HOSTS = [
    # a host, and one that is better
    (HostRecord(settled=100, unique=10, quality_sum=10), HostRecord(settled=100, unique=90, quality_sum=90)),
    (HostRecord(settled=100, unique=90, quality_sum=9), HostRecord(settled=100, unique=90, quality_sum=90)),
    (HostRecord(settled=1000, unique=0), HostRecord()),
    (HostRecord(), HostRecord(rank=500)),
]


@pytest.mark.parametrize(("worse", "better"), HOSTS)
def test_the_budget_of_a_host_grows_with_its_quality(worse: HostRecord, better: HostRecord) -> None:
    assert host_quality(worse) < host_quality(better)
    assert budget_factor(host_quality(worse)) < budget_factor(host_quality(better))


def test_the_parts_of_a_host_say_where_its_quality_comes_from() -> None:
    found = judge_host(HostRecord(settled=90, unique=60, quality_sum=54, rank=1_000))
    assert found.mean_quality is not None
    assert [round(part, 6) for part in (found.of_pages, found.of_links, found.mean_quality)] == [0.6, 0.2, 0.9]
    assert found.score == pytest.approx(0.8)
    assert found.budget_factor == pytest.approx(1.75)
    assert describe_host_quality(found) == (
        ("Quality of the host", "80 of 100"),
        ("Quality of its pages", "60 of 100, from 100 pages"),
        ("Unique pages", "60 of 90 settled"),
        ("Mean quality of the unique pages", "90 of 100"),
        ("Gain by sites that link to it", "20 of 100, by a rank of 1000.0"),
        ("Budget of pages", "1.75 times the usual"),
    )
    assert judge_host(HostRecord()).mean_quality is None


def test_a_new_host_has_the_usual_budget() -> None:
    assert budget_factor(host_quality(HostRecord())) == pytest.approx(1.0)
    assert 0.1 <= budget_factor(0.0) < budget_factor(1.0) == 2.5
