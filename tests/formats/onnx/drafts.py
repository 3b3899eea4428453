"""Small ONNX models that can be changed before they are written: convolutions, attention, loops, quantized layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.formats.onnx.encoding import KINDS, graph, message, model, node, tensor, value


@dataclass
class DraftNode:
    """A node; an attribute that is a draft is a graph."""

    op: str
    inputs: list[str]
    outputs: list[str]
    name: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the message."""
        attributes = {key: v.graph() if isinstance(v, Draft) else v for key, v in self.attributes.items()}
        return node(self.op, self.inputs, self.outputs, self.name, "", **attributes)


@dataclass
class Draft:
    """A model: ``shapes`` are claimed in place of those of tensors, ``external`` are entries of data elsewhere."""

    nodes: list[DraftNode]
    inputs: dict[str, list[Any]]
    outputs: dict[str, list[Any]]
    tensors: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, list[int]] = field(default_factory=dict)
    external: dict[str, dict[str, str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    opset: int = 20

    def graph(self) -> bytes:
        """Return the graph."""
        inputs, outputs = (
            [value(name, sizes, self.types.get(name, "float32")) for name, sizes in values.items()]
            for values in (self.inputs, self.outputs)
        )
        return graph([one.encoded() for one in self.nodes], inputs, outputs, [*map(self._tensor, self.tensors)])

    def encoded(self) -> bytes:
        """Return the file."""
        return model(self.graph(), self.opset, producer="pytorch")

    def _tensor(self, name: str) -> bytes:
        array = np.asarray(self.tensors[name])
        if name not in self.shapes:
            return tensor(name, array, self.external.get(name))
        return message({1: self.shapes[name], 2: KINDS[str(array.dtype)], 8: name, 9: array.tobytes()})


def _ones(*shape: int) -> Any:
    return np.full(shape, 0.1, np.float32)


def convolutions() -> Draft:
    """Two residual blocks, a pooling and a linear layer."""
    nodes = [DraftNode("Conv", ["x", "w0"], ["s0"], "/stem/Conv", {"pads": [1, 1, 1, 1], "strides": [2, 2]})]
    tensors = {"w0": _ones(4, 3, 3, 3), "fc.weight": _ones(5, 4), "fc.bias": _ones(5), "shape": np.array([0, -1])}
    for block in (0, 1):
        path = f"/layer/layer.{block}"
        tensors[f"onnx::Conv_{block}1"] = _ones(4, 2, 3, 3)
        attributes = {"pads": [1, 1, 1, 1], "group": 2, "kernel_shape": [3, 3]}
        nodes += [
            DraftNode("Conv", [f"s{block}", f"onnx::Conv_{block}1"], [f"c{block}"], f"{path}/conv/Conv", attributes),
            DraftNode("Relu", [f"c{block}"], [f"r{block}"], f"{path}/relu/Relu"),
            DraftNode("Add", [f"r{block}", f"s{block}"], [f"s{block + 1}"], f"{path}/Add"),
        ]
    nodes += [
        DraftNode("MaxPool", ["s2"], ["m"], "/pool/MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        DraftNode("GlobalAveragePool", ["m"], ["p"], "/gap/GlobalAveragePool"),
        DraftNode("Reshape", ["p", "shape"], ["f"], "/Reshape", {"allowzero": 0}),
        DraftNode("Gemm", ["f", "fc.weight", "fc.bias"], ["y"], "/fc/Gemm", {"transB": 1, "alpha": 1.0}),
        DraftNode("Softmax", ["y"], ["z"], "/Softmax", {"axis": 1}),
    ]
    return Draft(nodes, {"x": ["batch", 3, 8, 8]}, {"z": ["batch", 5]}, tensors)


def attention() -> Draft:
    """Attention of one layer over a symbolic length, whose shapes are computed."""
    nodes = [
        DraftNode("Shape", ["x"], ["shape"]),
        DraftNode("Gather", ["shape", "one"], ["length"], "", {"axis": 0}),
        DraftNode("Concat", ["zero", "length", "rest"], ["split"], "", {"axis": 0}),
    ]
    for name in ("q", "k", "v"):
        order = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        nodes += [
            DraftNode("MatMul", ["x", f"attn.{name}.weight"], [f"{name}0"], f"/attn/{name}/MatMul"),
            DraftNode("Reshape", [f"{name}0", "split"], [f"{name}1"], f"/attn/Reshape_{name}"),
            DraftNode("Transpose", [f"{name}1"], [f"{name}2"], "", {"perm": order}),
        ]
    nodes += [
        DraftNode("MatMul", ["q2", "k2"], ["scores"], "/attn/MatMul"),
        DraftNode("Div", ["scores", "scale"], ["scaled"]),
        DraftNode("Softmax", ["scaled"], ["weights"], "", {"axis": -1}),
        DraftNode("MatMul", ["weights", "v2"], ["heads"]),
        DraftNode("Transpose", ["heads"], ["turned"], "", {"perm": [0, 2, 1, 3]}),
        DraftNode("Reshape", ["turned", "merged"], ["flat"]),
        DraftNode("LayerNormalization", ["flat", "norm.weight", "norm.bias"], ["y"], "", {"axis": -1, "epsilon": 1e-5}),
    ]
    tensors = {f"attn.{name}.weight": _ones(8, 8) for name in "qkv"} | {
        "norm.weight": _ones(8),
        "norm.bias": _ones(8),
        "scale": np.float32(2),
        "one": np.array([1]),
        "zero": np.array([0]),
        "rest": np.array([2, 4]),
        "merged": np.array([0, -1, 8]),
    }
    return Draft(nodes, {"x": [1, "length", 8]}, {"y": [1, "length", 8]}, tensors)


def loop() -> Draft:
    """A loop of three iterations, and a branch that is chosen."""
    body = Draft(
        [
            DraftNode("MatMul", ["v", "w"], ["m"]),
            DraftNode("Tanh", ["m"], ["next"]),
            DraftNode("Identity", ["before"], ["after"]),
        ],
        {"i": [], "before": [], "v": [2, 4]},
        {"after": [], "next": [2, 4], "next ": [2, 4]},
        types={"i": "int64", "before": "bool", "after": "bool"},
    )
    body.outputs = {"after": [], "next": [2, 4]}
    branches = {
        name: Draft([DraftNode(op, ["y"], [op])], {}, {op: [2, 4]})
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    nodes = [
        DraftNode("Loop", ["trips", "choice", "x"], ["y"], "loop", {"body": body}),
        DraftNode("If", ["choice"], ["z"], "choose", dict(branches)),
    ]
    tensors = {"trips": np.array(3), "w": _ones(4, 4), "choice": np.array(True)}
    return Draft(nodes, {"x": [2, 4]}, {"z": [2, 4]}, tensors)


def recurrent() -> Draft:
    """A bidirectional LSTM."""
    nodes = [
        DraftNode(
            "LSTM", ["x", "w", "r", "b"], ["h", "", "c"], "lstm", {"hidden_size": 4, "direction": "bidirectional"}
        ),
        DraftNode("Transpose", ["h"], ["t"], "", {"perm": [0, 2, 1, 3]}),
        DraftNode("Reshape", ["t", "flat"], ["y"]),
    ]
    tensors = {"w": _ones(2, 16, 3), "r": _ones(2, 16, 4), "b": _ones(2, 32), "flat": np.array([0, 0, -1])}
    return Draft(nodes, {"x": [5, 2, 3]}, {"y": [5, 2, 8], "c": [2, 2, 4]}, tensors)


def quantized() -> Draft:
    """A quantized linear layer between conversions, and a dequantized weight."""
    nodes = [
        DraftNode("QuantizeLinear", ["x", "scale", "point"], ["q"], "quantize"),
        DraftNode(
            "QLinearMatMul", ["q", "scale", "point", "w8", "scale", "point8", "scale", "point"], ["p"], "product"
        ),
        DraftNode("DequantizeLinear", ["p", "scale", "point"], ["d"], "dequantize"),
        DraftNode("DequantizeLinear", ["v8", "scales", "points"], ["v"], "weights", {"axis": 1}),
        DraftNode("MatMul", ["d", "v"], ["y"], "/fc/MatMul"),
    ]
    eight = np.arange(32, dtype=np.int8).reshape(4, 8)
    tensors = {
        "scale": np.float32(0.1),
        "point": np.uint8(3),
        "point8": np.int8(0),
        "w8": eight,
        "v8": eight.reshape(8, 4),
        "scales": _ones(4),
        "points": np.zeros(4, np.int8),
    }
    return Draft(nodes, {"x": [2, 4]}, {"y": [2, 4]}, tensors)


#: All drafts.
DRAFTS: tuple[Callable[[], Draft], ...] = (convolutions, attention, loop, recurrent, quantized)
