"""Attention of an exported transformer as one operator of ONNX Runtime in place of seven.

PyTorch exports attention as products, sums, a softmax and transpositions. Each of them reads and writes its whole
tensor, which on a GPU takes longer than the arithmetic. `com.microsoft.MultiHeadAttention` is one kernel there. ONNX
Runtime's own optimizer does not know attention with a bias of relative positions, which MPNet has.

Only what is recognized is replaced. The caller compares the vectors before and after.
"""

from dataclasses import dataclass, field
from typing import Any

OPERATOR, DOMAIN = "MultiHeadAttention", "com.microsoft"
HEADS_FIRST, HEADS_LAST = [0, 2, 1, 3], [0, 2, 3, 1]
"""Transpositions of (batch, tokens, heads, size): of queries and values, and of keys for a product."""


@dataclass(slots=True)
class _Scores:
    """The scores before a softmax: a product of queries and keys, scaled, with terms added to it."""

    product: Any
    scale: float = 1.0
    terms: list[str] = field(default_factory=list)


def fuse_attention(model: Any, heads: int) -> int:
    """Replace attention in the ONNX model by the operator. Return the number of places."""
    return _Fusion(model, heads).run()


class _Fusion:
    def __init__(self, model: Any, heads: int) -> None:
        import onnx

        self._onnx, self._model, self._heads = onnx, model, heads
        self._graph = model.graph
        self._made_by = {output: node for node in self._graph.node for output in node.output}
        self._readers: dict[str, list[Any]] = {}
        for node in self._graph.node:
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
        self._constants = {each.name: each for each in self._graph.initializer}
        self._sums: dict[tuple[str, ...], str] = {}

    def run(self) -> int:
        replaced: dict[str, list[Any]] = {}
        for node in self._graph.node:
            if node.op_type == "Softmax" and (found := self._attention(node)):
                last, made = found
                replaced[last.output[0]] = made
        nodes = [new for node in self._graph.node for new in replaced.get(node.output[0], [node])]
        del self._graph.node[:]
        self._graph.node.extend(_needed(nodes, {output.name for output in self._graph.output}))
        if replaced and DOMAIN not in {each.domain for each in self._model.opset_import}:
            self._model.opset_import.append(self._onnx.helper.make_opsetid(DOMAIN, 1))
        return len(replaced)

    def _attention(self, softmax: Any) -> tuple[Any, list[Any]] | None:
        """Return the last node of the attention around a softmax, and the nodes that replace it."""
        scores = self._scores(softmax.input[0])
        weighted = self._only_reader(softmax.output[0], "MatMul")
        if scores is None or weighted is None or weighted.input[0] != softmax.output[0]:
            return None
        parts = (
            self._part(scores.product.input[0], HEADS_FIRST),
            self._part(scores.product.input[1], HEADS_LAST),
            self._part(weighted.input[1], HEADS_FIRST),
        )
        together = self._only_reader(weighted.output[0], "Transpose")
        last = together and self._joined(together.output[0])
        if None in parts or together is None or last is None or _permutation(together) != HEADS_FIRST:
            return None
        bias, made = self._sum(scores.terms, last.name)
        attributes = {"num_heads": self._heads, "scale": scores.scale}
        made.append(
            self._onnx.helper.make_node(
                OPERATOR,
                [*parts, "", "", bias] if bias else list(parts),
                [last.output[0]],
                name=f"{last.name}_attention",
                domain=DOMAIN,
                **attributes,
            )
        )
        return last, made

    def _scores(self, name: str) -> _Scores | None:
        node = self._made_by.get(name)
        if node is None:
            return None
        if node.op_type == "MatMul":
            return _Scores(node)
        if node.op_type == "Add":
            for own, other in ((0, 1), (1, 0)):
                if found := self._scores(node.input[own]):
                    found.terms.append(node.input[other])
                    return found
        if node.op_type in {"Div", "Mul"} and (factor := self._number(node.input[1])) is not None:
            found = self._scores(node.input[0])
            # Terms below a scaling would be scaled, too: no network in use has them.
            if found is not None and not found.terms:
                found.scale *= factor if node.op_type == "Mul" else 1 / factor
                return found
        return None

    def _part(self, name: str, permutation: list[int]) -> str | None:
        """Return the tensor (batch, tokens, hidden) behind one that is split into heads."""
        transposed = self._made_by.get(name)
        if transposed is None or transposed.op_type != "Transpose" or _permutation(transposed) != permutation:
            return None
        split = self._made_by.get(transposed.input[0])
        return str(split.input[0]) if split is not None and split.op_type == "Reshape" else None

    def _sum(self, terms: list[str], prefix: str) -> tuple[str, list[Any]]:
        """Return the name of the sum of the terms, and the nodes that make it. All layers share one sum."""
        key = tuple(sorted(terms))
        made: list[Any] = []
        if len(key) < 2:
            return (key[0] if key else ""), made
        if key not in self._sums:
            total = key[0]
            for number, term in enumerate(key[1:]):
                name = f"{prefix}_bias_{number}"
                made.append(self._onnx.helper.make_node("Add", [total, term], [name], name=name))
                total = name
            self._sums[key] = total
        return self._sums[key], made

    def _joined(self, name: str) -> Any | None:
        """Return the node that joins the heads of this tensor. Others may only read its shape."""
        readers = self._readers.get(name, [])
        joins = [node for node in readers if node.op_type == "Reshape" and node.input[0] == name]
        return joins[0] if len(joins) == 1 and all(node.op_type in {"Reshape", "Shape"} for node in readers) else None

    def _only_reader(self, name: str, operator: str) -> Any | None:
        readers = self._readers.get(name, [])
        return readers[0] if len(readers) == 1 and readers[0].op_type == operator else None

    def _number(self, name: str) -> float | None:
        """Return the value of a constant with one number."""
        tensor = self._constants.get(name)
        node = self._made_by.get(name)
        if tensor is None and node is not None and node.op_type == "Constant":
            tensor = node.attribute[0].t
        if tensor is None:
            return None
        values = self._onnx.numpy_helper.to_array(tensor)
        return float(values.reshape(-1)[0]) if values.size == 1 else None


def _permutation(node: Any) -> list[int]:
    return next((list(each.ints) for each in node.attribute if each.name == "perm"), [])


def _needed(nodes: list[Any], wanted: set[str]) -> list[Any]:
    """Return the nodes that the outputs need, in their order."""
    kept: list[Any] = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    return kept[::-1]
