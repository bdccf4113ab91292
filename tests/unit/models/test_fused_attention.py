"""Attention as one operator: the same vectors as before, and what is not recognized stays as it is.

Skipped without the package `onnx`, which only the export needs.
"""

from typing import Any

import numpy as np
import onnxruntime
import pytest

from triton_models.fused_attention import OPERATOR, fuse_attention

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed: only the export of models needs it")

HEADS, SIZE = 2, 4
HIDDEN = HEADS * SIZE


def layered(layers: int, *, scale_after: bool = False, mask_twice: bool = True) -> Any:
    """A network of attention layers as PyTorch exports them: a bias of positions and a mask are added to the scores."""
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    chance = np.random.default_rng(5)
    constants = {
        "split": np.array([0, 0, HEADS, SIZE]),
        "joined": np.array([-1]),
        "start": np.array([0]),
        "end": np.array([2]),
        "root": np.array(SIZE**0.5, np.float32),
    }
    nodes, hidden = [], "hidden"

    def node(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(operator, inputs, [output], name=f"n_{output}", **attributes))
        return output

    for layer in range(layers):
        parts = {}
        for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            constants[f"w_{part}{layer}"] = chance.normal(size=(HIDDEN, HIDDEN)).astype(np.float32)
            product = node("MatMul", [hidden, f"w_{part}{layer}"], f"{part}{layer}")
            heads = node("Reshape", [product, "split"], f"{part}{layer}_heads")
            parts[part] = node("Transpose", [heads], f"{part}{layer}_turned", perm=order)
        scores = node("MatMul", [parts["q"], parts["k"]], f"scores{layer}")
        if not scale_after:
            scores = node("Div", [scores, "root"], f"scaled{layer}")
        scores = node("Add", [scores, "positions"], f"placed{layer}")
        if mask_twice:
            scores = node("Add", [scores, "mask"], f"masked{layer}")
        if scale_after:
            scores = node("Div", [scores, "root"], f"scaled{layer}")
        weights = node("Softmax", [scores], f"weights{layer}", axis=-1)
        weighted = node("MatMul", [weights, parts["v"]], f"weighted{layer}")
        together = node("Transpose", [weighted], f"together{layer}", perm=[0, 2, 1, 3])
        shape = node("Slice", [node("Shape", [together], f"shape{layer}"), "start", "end"], f"rows{layer}")
        joined = node("Concat", [shape, "joined"], f"join{layer}", axis=0)
        hidden = node("Reshape", [together, joined], "out" if layer == layers - 1 else f"out{layer}")
    tensor, kind = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "attention",
        [
            tensor("hidden", kind, ["batch", "tokens", HIDDEN]),
            tensor("positions", kind, ["batch", HEADS, "tokens", "tokens"]),
            tensor("mask", kind, ["batch", 1, "tokens", "tokens"]),
        ],
        [tensor("out", kind, ["batch", "tokens", HIDDEN])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model: Any, batch: int, tokens: int) -> Any:
    chance = np.random.default_rng(batch)
    mask = np.where(np.arange(tokens) < max(tokens - 3, 1), 0, -1e4).astype(np.float32)
    feeds = {
        "hidden": chance.normal(size=(batch, tokens, HIDDEN)).astype(np.float32),
        "positions": chance.normal(size=(batch, HEADS, tokens, tokens)).astype(np.float32),
        "mask": np.broadcast_to(mask, (batch, 1, tokens, tokens)).copy(),
    }
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    known = {each.name for each in session.get_inputs()}
    return session.run(None, {name: values for name, values in feeds.items() if name in known})[0]


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


@pytest.mark.parametrize("shape", [(1, 5), (3, 8), (4, 32)])
def test_attention_becomes_one_operator_with_the_same_results(shape: tuple[int, int]) -> None:
    model = layered(3)
    before = run(model, *shape)
    assert fuse_attention(model, HEADS) == 3
    assert operators(model).count(OPERATOR) == 3
    assert not {"Softmax", "Transpose", "Div"} & set(operators(model))
    assert operators(model).count("Add") == 1, "all layers share the sum of positions and mask"
    assert np.allclose(run(model, *shape), before, atol=1e-5)


def test_a_single_term_is_the_bias_itself() -> None:
    model = layered(1, mask_twice=False)
    before = run(model, 2, 8)
    assert fuse_attention(model, HEADS) == 1
    assert "Add" not in operators(model)
    assert np.allclose(run(model, 2, 8), before, atol=1e-5)


def test_what_is_not_recognized_stays() -> None:
    model = layered(2, scale_after=True)
    before = operators(model)
    assert fuse_attention(model, HEADS) == 0
    assert operators(model) == before
