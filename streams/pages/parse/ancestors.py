"""Questions about the ancestors of many elements, in linear time: each ancestor is visited once."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from selectolax.lexbor import LexborNode

State = TypeVar("State")


class Surroundings(Generic[State]):
    """Knows the state of each element, which is made of its parent's state and the element itself.

    States are kept. So the step must give the same state for an element from the first time on that one of its
    descendants is asked about.
    """

    def __init__(self, outermost: State, step: Callable[[State, LexborNode], State]) -> None:
        self._outermost = outermost
        self._step = step
        self._known: dict[int, State] = {}

    def of(self, node: LexborNode) -> State:
        """Return the state of the node's parent."""
        path: list[LexborNode] = []
        above = node.parent
        while above is not None and above.mem_id not in self._known:
            path.append(above)
            above = above.parent
        state = self._outermost if above is None else self._known[above.mem_id]
        for element in reversed(path):
            state = self._known[element.mem_id] = self._step(state, element)
        return state


def outermost(nodes: Iterable[LexborNode]) -> Iterator[LexborNode]:
    """Leave out each node that has another one of them as ancestor, and repeated ones."""
    by_id = {node.mem_id: node for node in nodes}
    is_inside = Surroundings(False, lambda inside, element: inside or element.mem_id in by_id)
    return (node for node in list(by_id.values()) if not is_inside.of(node))


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
    """Remove elements from their tree. An element inside of a removed one must not be touched, since it is freed."""
    for node in list(outermost(nodes)):
        node.decompose()
