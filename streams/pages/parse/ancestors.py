"""Questions about the ancestors of many elements, in linear time: each ancestor is visited once."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from selectolax.lexbor import LexborNode

State = TypeVar("State")


def unknown_ancestors(node: LexborNode, known: Collection[int]) -> Iterator[LexborNode]:
    """Yield the node's ancestors below the nearest known ancestor, the outermost first."""
    path: list[LexborNode] = []
    above = node.parent
    while above is not None and above.mem_id not in known:
        path.append(above)
        above = above.parent
    return reversed(path)


def state_above(node: LexborNode, states: Mapping[int, State], outermost: State) -> State:
    """Return the state of the node's parent; `outermost` for a node without a parent."""
    return outermost if node.parent is None else states[node.parent.mem_id]


def outermost(nodes: Iterable[LexborNode]) -> Iterator[LexborNode]:
    """Leave out each node with another node of `nodes` as ancestor, and repeated nodes."""
    by_id = {node.mem_id: node for node in nodes}
    is_inside: dict[int, bool] = {}
    for node in list(by_id.values()):
        for element in unknown_ancestors(node, is_inside):
            is_inside[element.mem_id] = state_above(element, is_inside, False) or element.mem_id in by_id
        if not state_above(node, is_inside, False):
            yield node


def with_ancestors(nodes: Iterable[LexborNode]) -> set[int]:
    """Return the identities of the nodes and of all their ancestors."""
    known: set[int] = set()
    for node in nodes:
        element: LexborNode | None = node
        while element is not None and element.mem_id not in known:
            known.add(element.mem_id)
            element = element.parent
    return known


def remove_all(nodes: Iterable[LexborNode]) -> None:
    """Remove elements from their tree. Elements inside a removed element must not be touched, since they are freed."""
    for node in list(outermost(nodes)):
        node.decompose()
