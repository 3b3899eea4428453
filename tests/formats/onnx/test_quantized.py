"""Quantized models in ONNX: parameters that are meant, and the bytes in which the file stores them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from tests.formats.onnx.encoding import graph, model, node, saved, tensor, value

RNG = np.random.default_rng(0)
WEIGHT = RNG.integers(-128, 128, (6, 4)).astype(np.int8)
SCALES = RNG.uniform(0.01, 0.1, 4).astype(np.float32)
POINTS = RNG.integers(-9, 9, 4).astype(np.int8)
X = RNG.standard_normal((2, 6)).astype(np.float32)


def loaded(folder: Path, nodes: list[bytes], tensors: dict[str, Any], shape: tuple[int, ...] = (2, 4)) -> Any:
    """Return a network of nodes from ``x`` to ``y``."""
    listed = [tensor(name, array) for name, array in tensors.items()]
    body = graph(nodes, [value("x", [2, 6])], [value("y", list(shape))], listed)
    return netcalc.load(saved(folder, model(body, 21)))


def output(net: Any, x: Any = X) -> Any:
    return net.run({"x": x}, weights=net.own_weights).outputs["y"]


def stored_bytes(*arrays: Any) -> int:
    return sum(array.nbytes for array in arrays)


def test_scaled_products_of_integers_are_products_of_what_they_mean(tmp_path: Path) -> None:
    """Nodes as ``quantize_dynamic`` writes them: the scales are multiplied first, and a bias follows."""
    bias = RNG.standard_normal(4).astype(np.float32)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("Mul", ["s", "w_scale"], ["scales"]),
        node("MatMulInteger", ["q", "w_quantized", "z", "w_zero_point"], ["i"]),
        node("Cast", ["i"], ["f"], to=1),
        node("Mul", ["f", "scales"], ["p"]),
        node("Add", ["p", "bias"], ["y"]),
    ]
    tensors = {"w_quantized": WEIGHT, "w_scale": SCALES, "w_zero_point": POINTS, "bias": bias}
    net = loaded(tmp_path, nodes, tensors)
    assert (net.params, net.macs, net.memory().buffers) == (28, 48, 0)
    assert net.cost().weight_bytes == net.memory().weights == stored_bytes(*tensors.values())
    low, high = min(X.min(), 0), max(X.max(), 0)
    step = np.float32((high - low) / 255)
    zero = np.rint(-low / step)
    meant = (np.clip(np.rint(X / step) + zero, 0, 255) - zero) * step
    wanted = meant.astype(np.float64) @ ((WEIGHT.astype(int) - POINTS) * SCALES.astype(np.float64)) + bias
    assert np.abs(output(net) - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_products_of_integers_that_are_used_as_they_are(tmp_path: Path) -> None:
    """A product that is read before it is scaled stays one of integers, with a buffer."""
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z"], ["i"]),
        node("Cast", ["i"], ["f"], to=1),
        node("Mul", ["s", "scale"], ["scales"]),
        node("Mul", ["f", "scales"], ["p"]),
        node("Add", ["f", "p"], ["y"]),
    ]
    net = loaded(tmp_path, nodes, {"w": WEIGHT, "scale": np.float32(0.5)})
    assert net.memory().buffers == WEIGHT.nbytes
    assert net.params == 0


def test_blocks_of_a_weight(tmp_path: Path) -> None:
    """Three neighbors along the inputs share a scale."""
    scales, points = RNG.uniform(0.01, 0.1, (2, 4)).astype(np.float32), RNG.integers(-9, 9, (2, 4)).astype(np.int8)
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["m"], axis=0, block_size=3),
        node("MatMul", ["x", "m"], ["y"]),
    ]
    net = loaded(tmp_path, nodes, {"w": WEIGHT, "s": scales, "z": points})
    assert (net.params, net.cost().weight_bytes) == (24, stored_bytes(WEIGHT, scales, points))
    spread = [np.repeat(each, 3, axis=0).astype(np.float64) for each in (scales, points)]
    wanted = X @ ((WEIGHT - spread[1]) * spread[0])
    assert np.abs(output(net) - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_a_bias_in_the_scales_of_input_and_weight(tmp_path: Path) -> None:
    """onnxruntime's ``QGemm``, whose bias has no scale of its own."""
    bias = RNG.integers(-999, 999, 4).astype(np.int32)
    nodes = [
        node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        node("QGemm", ["q", "xs", "xz", "w", "s", "z", "b"], ["y"], "fc", "com.microsoft", transB=0),
    ]
    tensors = {"xs": np.float32(0.02), "xz": np.uint8(128), "w": WEIGHT, "s": SCALES, "z": POINTS, "b": bias}
    net = loaded(tmp_path, nodes, tensors)
    assert (net.params, net.cost().weight_bytes) == (28, stored_bytes(WEIGHT, SCALES, POINTS, bias))
    assert net.memory().weights == net.cost().weight_bytes
    x = (np.clip(np.rint(X / np.float32(0.02)) + 128, 0, 255) - 128) * np.float64(np.float32(0.02))
    scales = SCALES.astype(np.float64)
    wanted = x @ ((WEIGHT.astype(int) - POINTS) * scales) + bias * (np.float64(np.float32(0.02)) * scales)
    assert np.abs(output(net) - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_rows_of_a_quantized_table(tmp_path: Path) -> None:
    """Rows of integers, which are moved before what uses them scales them, are rows of a parameter."""
    nodes = [
        node("Gather", ["table", "i"], ["g"], axis=0),
        node("Reshape", ["g", "shape"], ["r"]),
        node("QLinearAdd", ["r", "s", "z", "r", "s", "z", "ys", "z"], ["q"], "sum", "com.microsoft"),
        node("DequantizeLinear", ["q", "ys", "z"], ["d"]),
        node("MatMul", ["x", "d"], ["y"]),
    ]
    single = {"s": np.float32(0.1), "z": np.int8(3), "ys": np.float32(0.5)}
    tensors: dict[str, Any] = {"table": WEIGHT, "i": np.array([4, 0, 1, 2, 3, 5]), "shape": np.array([6, 4]), **single}
    net = loaded(tmp_path, nodes, tensors)
    assert (net.params, net.memory().buffers) == (24, 0)
    assert net.cost().weight_bytes == stored_bytes(WEIGHT, single["s"], single["z"])
    rows = 2 * (WEIGHT[tensors["i"]].astype(np.float64) - 3) * 0.1
    wanted = X @ ((np.clip(np.rint(rows / 0.5) + 3, -128, 127) - 3) * 0.5)
    assert np.abs(output(net) - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_numbers_are_constants(tmp_path: Path) -> None:
    """A quantized number is no parameter, as a number in full precision is none."""
    nodes = [
        node("DequantizeLinear", ["n", "s", "z"], ["m"]),
        node("Mul", ["x", "m"], ["y"]),
    ]
    net = loaded(tmp_path, nodes, {"n": np.int8(100), "s": np.float32(0.1), "z": np.int8(-2)}, (2, 6))
    assert net.params == net.memory().buffers == 0
    assert (output(net) == X * (np.float32(102) * np.float32(0.1))).all()


def test_a_weight_that_two_layers_share(tmp_path: Path) -> None:
    """It is dequantized twice, and is one parameter."""
    square = RNG.integers(-128, 128, (6, 6)).astype(np.int8)
    nodes = [node("DequantizeLinear", ["w", "s"], [f"m{n}"]) for n in (0, 1)]
    nodes += [node("MatMul", ["x", "m0"], ["h"]), node("MatMul", ["h", "m1"], ["y"])]
    net = loaded(tmp_path, nodes, {"w": square, "s": np.float32(0.1)}, (2, 6))
    assert (net.params, net.cost().weight_bytes, net.memory().weights) == (36, 40, 40)


@pytest.mark.parametrize(
    ("scale", "axis", "said"),
    [(SCALES, 0, "'s' is 4, which does not scale 6×4"), (SCALES[:3], 1, "'s' is 3, which does not scale 6×4")],
)
def test_scales_that_do_not_fit(tmp_path: Path, scale: Any, axis: int, said: str) -> None:
    nodes = [node("DequantizeLinear", ["w", "s"], ["m"], "dequantize", axis=axis), node("MatMul", ["x", "m"], ["y"])]
    with pytest.raises(netcalc.NetcalcError, match=said) as caught:
        loaded(tmp_path, nodes, {"w": WEIGHT, "s": scale})
    assert [problem.code for problem in caught.value.diagnostics] == ["E007"]
