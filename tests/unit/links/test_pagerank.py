"""PageRank over hosts: known values, the update against the batch, and laws over random graphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.links.pagerank import (
    DAMPING,
    MAX_ROUNDS,
    GraphBuilder,
    HostGraph,
    Ranks,
    residuals_of,
    start_ranks,
    update_ranks,
)
from tests.sizes import examples

TIGHT = 1e-12

Links = list[tuple[str, list[str]]]
"""Each host with the hosts that link to it."""


def graph_of(linking: Links) -> HostGraph:
    builder = GraphBuilder()
    for host, sources in linking:
        builder.add(host, sources)
    return builder.graph()


def compute_ranks(graph: HostGraph) -> Ranks:
    """Return the ranks without former ones."""
    return update_ranks(graph, start_ranks(graph, {}), tolerance=TIGHT)


def by_host(graph: HostGraph) -> dict[str, float]:
    return dict(zip(graph.hosts, compute_ranks(graph), strict=True))


@pytest.mark.parametrize(
    ("linking", "expected"),
    [
        pytest.param([("b", ["a"])], {"a": 1, "b": 1.85}, id="one link passes on all of it"),
        pytest.param([("a", ["b"]), ("b", ["a"])], {"a": 1 / 0.15, "b": 1 / 0.15}, id="two that link to each other"),
        pytest.param(
            [("b", ["a"]), ("c", ["a"])], {"a": 1, "b": 1.425, "c": 1.425}, id="two links share what they pass on"
        ),
        pytest.param(
            [("m", [f"s{n}" for n in range(10)])],
            {"m": 9.5, **{f"s{n}": 1 for n in range(10)}},
            id="a star: 1 + .85 for each of ten hosts",
        ),
        pytest.param(
            [("b", ["a"]), ("c", ["b"]), ("d", ["c"])],
            {"a": 1, "b": 1.85, "c": 1 + 0.85 * 1.85, "d": 1 + 0.85 * (1 + 0.85 * 1.85)},
            id="a chain: a geometric series",
        ),
        pytest.param([("b", ["a", "a", "b"])], {"a": 1, "b": 1.85}, id="repeated links and links to itself"),
    ],
)
def test_ranks_have_the_known_values(linking: Links, expected: dict[str, float]) -> None:
    assert by_host(graph_of(linking)) == pytest.approx(expected, rel=1e-9)


def dense_pagerank(graph: HostGraph) -> Ranks:
    """PageRank as the eigenvector of the whole Google matrix, with uniform rows for hosts without links."""
    count = len(graph.hosts)
    moves = np.zeros((count, count))
    for source in range(count):
        targets = graph.targets[graph.starts[source] : graph.starts[source + 1]]
        moves[source, targets] = 1 / len(targets) if len(targets) else 0
        if not len(targets):
            moves[source] = 1 / count
    values, vectors = np.linalg.eig((DAMPING * moves + (1 - DAMPING) / count).T)
    largest: Ranks = np.real(vectors[:, np.argmax(np.real(values))])
    return largest / float(largest.sum())


NAMES = st.integers(0, 12).map(lambda number: f"h{number}")
GRAPHS = st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=6)), max_size=20)


@settings(max_examples=examples(60), deadline=None)
@given(GRAPHS)
def test_the_batch_is_the_eigenvector_of_the_google_matrix(linking: Links) -> None:
    graph = graph_of(linking)
    ranks = compute_ranks(graph)
    if len(ranks):
        assert ranks / ranks.sum() == pytest.approx(dense_pagerank(graph), abs=1e-8)


@settings(max_examples=examples(60), deadline=None)
@given(GRAPHS, GRAPHS)
def test_the_update_after_new_links_gives_what_the_batch_gives(before: Links, added: Links) -> None:
    former = by_host(graph_of(before))
    graph = graph_of([*before, *added])
    ranks = update_ranks(graph, start_ranks(graph, former), tolerance=TIGHT)
    assert ranks == pytest.approx(compute_ranks(graph), rel=1e-7)


@settings(max_examples=examples(30), deadline=None)
@given(GRAPHS, GRAPHS)
def test_the_update_after_links_were_taken_away_gives_what_the_batch_gives(kept: Links, gone: Links) -> None:
    former = by_host(graph_of([*kept, *gone]))
    graph = graph_of(kept)
    ranks = update_ranks(graph, start_ranks(graph, former), tolerance=TIGHT)
    assert ranks == pytest.approx(compute_ranks(graph), rel=1e-7)


def random_web(hosts: int, links: int, seed: int) -> Links:
    """A graph in which few hosts have many of the links."""
    random = np.random.default_rng(seed)
    targets = (hosts * random.random(links) ** 3).astype(int)
    sources = random.integers(0, hosts, links)
    return [(f"h{target}", [f"h{source}"]) for target, source in zip(targets, sources, strict=True)]


def test_an_update_touches_only_what_a_new_link_changes() -> None:
    linking = random_web(2_000, 12_000, seed=1)
    former = by_host(graph_of(linking))
    graph = graph_of([*linking, ("h1900", ["h1901"])])
    residuals = residuals_of(graph, start_ranks(graph, former))
    changed = {graph.hosts[place] for place in np.flatnonzero(np.abs(residuals) > 1e-9)}
    one = graph_of(linking)
    of_source = one.targets[one.starts[one.hosts.index("h1901")] : one.starts[one.hosts.index("h1901") + 1]]
    assert changed == {"h1900", *(one.hosts[place] for place in of_source)}, "the new link and those beside it"


def test_the_order_of_links_changes_nothing() -> None:
    linking = random_web(200, 900, seed=2)
    assert by_host(graph_of(linking)) == pytest.approx(by_host(graph_of(linking[::-1])), rel=1e-9)


def test_a_thousand_new_hosts_change_only_the_ranks_of_what_they_link_to() -> None:
    linking = random_web(300, 900, seed=3)
    alone = by_host(graph_of(linking))
    among = by_host(graph_of([*linking, ("sink", [f"new{n}" for n in range(1_000)])]))
    assert {host: among[host] for host in alone} == pytest.approx(alone, rel=1e-9)
    assert among["sink"] == pytest.approx(1 + 1_000 * DAMPING)


def test_an_empty_graph_has_no_ranks() -> None:
    empty = graph_of([])
    assert len(compute_ranks(empty)) == len(update_ranks(empty, start_ranks(empty, {}))) == 0


def test_the_rounds_are_enough_for_the_tolerance() -> None:
    """A ring passes a residual on without loss but damping."""
    ring = graph_of([(f"h{(n + 1) % 50}", [f"h{n}"]) for n in range(50)])
    ranks = update_ranks(ring, start_ranks(ring, {}), tolerance=TIGHT)
    assert np.abs(residuals_of(ring, ranks)).max() <= TIGHT
    assert np.log(TIGHT) / np.log(DAMPING) < MAX_ROUNDS
