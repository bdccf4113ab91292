"""The network of a packed file as an ONNX file: a BERT with word embeddings that stay in 4 bits.

The word embeddings are four fifths of the weights, and a text reads a few rows of them. So the rows are looked up in 4
bits and unpacked behind the lookup: the same numbers, at a seventh of their size in 32 bits. The weights of the
products have 32 or 16 bits, or 8 bits with a scale for each column. Queries, keys and values are one product.

A pair of models is one graph, too (`pair_network`): two networks, each with token ids of its own, and one vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from streams.models.inference.packed import onnx_bytes as onnx
from streams.models.inference.packed.packed_file import ZERO, Bert, Blocks, Floats

Precision = Literal["fp32", "fp16", "int8"]
OPERATORS, FORMAT = 17, 8
"""The set of operators, and the version of the format that belongs to it."""
FUSED_OPERATORS = "com.microsoft"
IDS, MASK, HIDDEN, EMBEDDING = "input_ids", "attention_mask", "last_hidden_state", "embedding"
FIRST = "first_"
"""The begin of the names of the first network's tensors and parameters, where a model is a pair."""
VECTOR = "vector"
"""The vector of one network of a pair."""
FAR = -10_000.0
"""The number that is added to the score of a token that is padding. Half precision holds it."""
LARGEST_WEIGHT = 127
HALF = 0.5**0.5
"""The length of each half of a pair's vector."""


def network(model: Bert, precision: Precision) -> bytes:
    """Return the network up to its last layer, for `SentenceEncoder`: shape (texts, tokens, hidden)."""
    graph = _Graph(model, precision)
    graph.layers()
    return graph.file(HIDDEN, ("batch", "tokens", model.hidden))


def pooled_network(model: Bert, precision: Precision, mean: Floats) -> bytes:
    """Return the network with the vectors of texts, of unit length. `mean` is subtracted from each vector before."""
    graph = _Graph(model, precision, fused=precision == "fp16")
    graph.layers()
    graph.pool(EMBEDDING, mean)
    return graph.file(EMBEDDING, ("batch", model.hidden))


def pair_network(first: Bert, second: Bert, precision: Precision, mean: Floats) -> bytes:
    """Return both networks with the vectors of a pair, of unit length. `mean` is subtracted from the second's vectors.

    The first network's tensors have its prefix. A text that it does not read has the id 0 in its first place, where
    each other text has the mark of its beginning.
    """
    graph = _Graph(second, precision, fused=precision == "fp16")
    other = replace(graph, model=first, prefix=FIRST)  # with the same lists of operations and constants
    for one, own_mean in ((other, None), (graph, mean)):
        one.layers()
        one.pool(VECTOR, own_mean)
    graph.join()
    return graph.file(EMBEDDING, ("batch", first.hidden + second.hidden), ("", FIRST))


@dataclass(slots=True)
class _Graph:
    """Operations and constants. A method adds operations, and returns or takes names of tensors."""

    model: Bert
    precision: Precision
    fused: bool = False
    """Attention is one operator of ONNX Runtime, which is quicker on GPUs (`fused_attention`)."""
    prefix: str = ""
    """The begin of the names of all tensors of this network in the file."""
    nodes: list[bytes] = field(default_factory=list)
    constants: dict[str, bytes] = field(default_factory=dict)

    @property
    def _kind(self) -> type[np.floating[Any]]:
        return np.float16 if self.precision == "fp16" else np.float32

    def file(self, output: str, dims: tuple[str | int, ...], prefixes: Sequence[str] = ("",)) -> bytes:
        """Return the ONNX file with this output. `prefixes` are the prefixes of its networks."""
        inputs = [
            onnx.value(prefix + name, onnx.INT64, ("batch", f"{prefix}tokens"))
            for prefix in prefixes
            for name in (IDS, MASK)
        ]
        graph = b"".join(onnx.field(1, each) for each in self.nodes) + onnx.text(2, "multilingual-e5-small")
        graph += b"".join(onnx.field(5, each) for each in self.constants.values())
        graph += b"".join(onnx.field(11, each) for each in inputs)
        graph += onnx.field(12, onnx.value(output, onnx.FLOAT, dims))
        sets = onnx.field(8, onnx.text(1, "") + onnx.number(2, OPERATORS))
        if self.fused:
            sets += onnx.field(8, onnx.text(1, FUSED_OPERATORS) + onnx.number(2, 1))
        return onnx.number(1, FORMAT) + onnx.field(7, graph) + sets

    def layers(self) -> None:
        """Add the layers of the network. Their last output is HIDDEN, in single precision."""
        self._mask()
        states = self._embeddings()
        for layer in range(self.model.layers):
            states = self._layer(f"l{layer}", states)
        self._add("Cast", [states], HIDDEN, onnx.attribute("to", onnx.FLOAT))

    def pool(self, output: str, mean: Floats | None) -> None:
        """Add the mean of the tokens of each text, divided by its length: `output`.

        `mean` is the mean vector of texts. If there is one, it is subtracted, and the rest divided by its length.
        """
        self._add("Cast", [MASK], "is_token", onnx.attribute("to", onnx.FLOAT))
        self._add("Unsqueeze", ["is_token", self._integers("last", [2])], "weights")
        self._add("Mul", [HIDDEN, "weights"], "weighted")
        tokens, keep = self._integers("of_tokens", [1]), onnx.attribute("keepdims", 0)
        self._add("ReduceSum", ["weighted", tokens], "sums", keep)
        self._add("ReduceSum", ["weights", tokens], "counts", keep)
        self._add("Div", ["sums", "counts"], "means")
        pooled, length = "means", (onnx.attribute("axis", 1), onnx.attribute("p", 2))
        if mean is not None:
            self._add("LpNormalization", [pooled], "directions", *length)
            self._add("Sub", ["directions", self._constant("mean", mean)], "moved")
            pooled = "moved"
        self._add("LpNormalization", [pooled], output, *length)

    def join(self) -> None:
        """Add the vectors of a pair out of the vectors of both networks: EMBEDDING."""
        begin = self._integers("pair.begin", [0])
        self._add("Gather", [FIRST + IDS, begin], "pair.begins", onnx.attribute("axis", 1))
        self._add("Cast", ["pair.begins"], "pair.is_read", onnx.attribute("to", onnx.BOOL))
        self._add("Cast", ["pair.is_read"], "pair.read", onnx.attribute("to", onnx.FLOAT))
        self._add("Mul", ["pair.read", self._single("pair.half", HALF)], "pair.first_length")
        self._add("Mul", ["pair.read", self._single("pair.rest", 1 - HALF)], "pair.shorter_by")
        self._add("Sub", [self._single("pair.whole", 1.0), "pair.shorter_by"], "pair.second_length")
        self._add("Mul", [FIRST + VECTOR, "pair.first_length"], "pair.first")
        self._add("Mul", [VECTOR, "pair.second_length"], "pair.second")
        self._add("Concat", ["pair.first", "pair.second"], EMBEDDING, onnx.attribute("axis", 1))

    def _mask(self) -> None:
        """Add what attention needs to leave padding out: `padding`."""
        if self.fused:
            self._add("Cast", [MASK], "padding", onnx.attribute("to", onnx.INT32))
            return
        self._add("Cast", [MASK], "mask", onnx.attribute("to", onnx.TYPES[np.dtype(self._kind).name]))
        self._add("Sub", [self._number("one", 1.0), "mask"], "no_token")
        self._add("Mul", ["no_token", self._number("far", FAR)], "distances")
        self._add("Unsqueeze", ["distances", self._integers("heads_and_tokens", [1, 2])], "padding")

    def _embeddings(self) -> str:
        words = self.model.words
        if isinstance(words, Blocks):
            self._unpacked_words(words)
        else:
            self._constant("words", words.astype(self._kind))
            self._add("Gather", ["words", IDS], "word_vectors")
        places = self.model.vectors["emb.pos"].reshape(self.model.positions, -1)
        # All tokens are of the first kind.
        self._constant("places", (places + self.model.vectors["emb.type"][: self.model.hidden]).astype(self._kind))
        self._add("Shape", [IDS], "length", onnx.attribute("start", 1), onnx.attribute("end", 2))
        self._add("Slice", ["places", self._integers("start", [0]), "length", self._integers("rows_of", [0])], "place")
        self._add("Add", ["word_vectors", "place"], "embedded")
        return self._normalize("emb.ln", "embedded")

    def _unpacked_words(self, words: Blocks) -> None:
        """Add the rows of the word embeddings, unpacked: `word_vectors`."""
        kind = onnx.TYPES[np.dtype(self._kind).name]
        self._constant("words", words.packed)
        self._constant("word_scales", words.scales[:, :, None])
        self._add("Gather", ["words", IDS], "bytes")
        self._add("Cast", ["bytes"], "both", onnx.attribute("to", kind))
        self._add("Mul", ["both", self._number("sixteenth", 1 / 16)], "shifted")
        self._add("Floor", ["shifted"], "upper")
        self._add("Mul", ["upper", self._number("sixteen", 16.0)], "upper_part")
        self._add("Sub", ["both", "upper_part"], "lower")
        self._add("Concat", ["lower", "upper"], "numbers", onnx.attribute("axis", 3))
        self._add("Sub", ["numbers", self._number("zero", float(ZERO))], "centred")
        self._add("Gather", ["word_scales", IDS], "half_scales")
        self._add("Cast", ["half_scales"], "scales", onnx.attribute("to", kind))
        self._add("Mul", ["centred", "scales"], "blocks")
        self._add("Reshape", ["blocks", self._integers("rows", [0, 0, self.model.hidden])], "word_vectors")

    def _layer(self, name: str, states: str) -> str:
        attended = self._attention(name, states)
        output = self._product(f"{name}.ao", attended, self._weights(f"{name}.ao"), self._bias(f"{name}.ao"))
        self._add("Add", [states, output], f"{name}.with_attention")
        middle = self._normalize(f"{name}.aln", f"{name}.with_attention")
        inner = self._product(f"{name}.fi", middle, self._weights(f"{name}.fi"), self._bias(f"{name}.fi"))
        outer = self._product(
            f"{name}.fo", self._gelu(name, inner), self._weights(f"{name}.fo"), self._bias(f"{name}.fo")
        )
        self._add("Add", [middle, outer], f"{name}.with_inner")
        return self._normalize(f"{name}.oln", f"{name}.with_inner")

    def _attention(self, name: str, states: str) -> str:
        """Add attention. The scale of the scores is in the weights of the queries."""
        model, parts = self.model, [f"{name}.{part}" for part in "qkv"]
        scale = np.float32((model.hidden // model.heads) ** -0.5)
        factors = (scale, np.float32(1), np.float32(1))
        weights = np.concatenate([self._weights(part) * by for part, by in zip(parts, factors, strict=True)], axis=1)
        bias = np.concatenate([self._bias(part) * by for part, by in zip(parts, factors, strict=True)])
        together = self._product(f"{name}.qkv", states, weights, bias)
        sizes = self._integers("sizes", [model.hidden] * 3)
        self._add("Split", [together, sizes], parts, onnx.attribute("axis", 2))
        attended = f"{name}.attended"
        if self.fused:
            options = onnx.attribute("num_heads", model.heads), onnx.attribute("scale", 1.0)
            self._add("MultiHeadAttention", [*parts, "", "padding"], attended, *options, fused=True)
            return attended
        heads = self._integers("heads", [0, 0, model.heads, model.hidden // model.heads])
        for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True):
            self._add("Reshape", [part, heads], f"{part}.heads")
            self._add("Transpose", [f"{part}.heads"], f"{part}.by_head", onnx.attribute("perm", order))
        queries, keys, values = (f"{part}.by_head" for part in parts)
        self._add("MatMul", [queries, keys], f"{name}.scores")
        self._add("Add", [f"{name}.scores", "padding"], f"{name}.masked")
        self._add("Softmax", [f"{name}.masked"], f"{name}.shares", onnx.attribute("axis", 3))
        self._add("MatMul", [f"{name}.shares", values], f"{name}.by_head")
        self._add("Transpose", [f"{name}.by_head"], f"{name}.joined", onnx.attribute("perm", [0, 2, 1, 3]))
        self._add("Reshape", [f"{name}.joined", self._integers("rows", [0, 0, model.hidden])], attended)
        return attended

    def _gelu(self, name: str, inner: str) -> str:
        self._add("Div", [inner, self._number("root_of_two", 2**0.5)], f"{name}.scaled")
        self._add("Erf", [f"{name}.scaled"], f"{name}.erf")
        self._add("Add", [f"{name}.erf", self._number("one", 1.0)], f"{name}.raised")
        self._add("Mul", [inner, f"{name}.raised"], f"{name}.twice")
        self._add("Mul", [f"{name}.twice", self._number("half", 0.5)], f"{name}.gelu")
        return f"{name}.gelu"

    def _normalize(self, name: str, states: str) -> str:
        weights = [self._vector(f"{name}.w"), self._vector(f"{name}.b")]
        options = onnx.attribute("axis", -1), onnx.attribute("epsilon", float(self.model.epsilon))
        self._add("LayerNormalization", [states, *weights], f"{name}.out", *options)
        return f"{name}.out"

    def _product(self, name: str, states: str, weights: Floats, bias: Floats) -> str:
        """Add a product with weights (inputs by outputs), and the bias."""
        if self.precision == "int8":
            scales = np.maximum(np.abs(weights).max(axis=0), np.float32(1e-12)) / np.float32(LARGEST_WEIGHT)
            self._constant(f"{name}.numbers", np.rint(weights / scales).astype(np.int8))
            self._constant(f"{name}.scales", scales)
            numbers = [f"{name}.numbers", f"{name}.scales"]
            self._add("DequantizeLinear", numbers, f"{name}.weights", onnx.attribute("axis", 1))
        else:
            self._constant(f"{name}.weights", weights.astype(self._kind))
        self._constant(f"{name}.bias", bias.astype(self._kind))
        self._add("MatMul", [states, f"{name}.weights"], f"{name}.product")
        self._add("Add", [f"{name}.product", f"{name}.bias"], f"{name}.out")
        return f"{name}.out"

    def _weights(self, name: str) -> Floats:
        return self.model.weights(f"{name}.w").T

    def _bias(self, name: str) -> Floats:
        return self.model.vectors[f"{name}.b"]

    def _vector(self, name: str) -> str:
        return self._constant(name, self.model.vectors[name].astype(self._kind))

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, self._kind))

    def _single(self, name: str, value: float) -> str:
        """Add a number in single precision, which all vectors of texts have."""
        return self._constant(name, np.array(value, np.float32))

    def _integers(self, name: str, values: Sequence[int]) -> str:
        return self._constant(f"{name}_shape", np.array(values, np.int64))

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant, and return its name without the prefix, which `_add` writes."""
        own = self.prefix + name
        self.constants[own] = onnx.tensor(own, values)
        return name

    def _add(
        self, kind: str, inputs: list[str], output: str | list[str], *attributes: bytes, fused: bool = False
    ) -> None:
        read = [name and self.prefix + name for name in inputs]  # an input without a name is one that is left out
        outputs = [self.prefix + name for name in ([output] if isinstance(output, str) else output)]
        made = onnx.node(kind, read, outputs, *attributes, name=outputs[0])
        self.nodes.append(made + onnx.text(7, FUSED_OPERATORS) if fused else made)
