"""Losses, pooling by filters and norms, and bits with drawn attributes and inputs, written in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.oracle.onnx.exported import assert_same, of_operation

X = [4, 5, 3]
PROBABILITIES = {"shape": X, "range": [0.01, 0.99]}


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_of_elements(reduction: str, tmp_path: Path) -> None:
    weight = {"shape": X, "range": [0.1, 2]}
    logits = {"input": X, "target": PROBABILITIES}
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("mse_loss", {}, {"input": X, "target": X}),
        ("l1_loss", {}, {"input": X, "target": X, "weight": weight}),
        ("binary_cross_entropy", {}, {"input": PROBABILITIES, "target": PROBABILITIES, "weight": weight}),
        ("binary_cross_entropy_with_logits", {"pos_weight": [0.5, 2.0, 3.0]}, logits),
        ("binary_cross_entropy_with_logits", {}, {**logits, "pos_weight": weight}),
        ("kl_div", {}, {"input": X, "target": PROBABILITIES}),
        ("kl_div", {"log_target": True}, {"input": X, "target": X}),
    ]
    for name, options, inputs in cases:
        assert_same(of_operation(name, {**options, "reduction": reduction}, inputs), tmp_path / "loss.onnx")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_of_classes(smoothing: float, reduction: str, tmp_path: Path) -> None:
    """Class 2 is ignored where targets are classes."""
    classes = {"shape": [4, 3], "dtype": "int64", "range": [0, 5]}
    weight = {"shape": [5], "range": [0.1, 2]}
    of_class: dict[str, Any] = {"reduction": reduction, "ignore_index": 2}
    smooth = {"reduction": reduction, "label_smoothing": smoothing}
    cases: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("nll_loss", of_class, {"input": X, "target": classes, "weight": weight}),
        ("cross_entropy", {**smooth, "ignore_index": 2}, {"input": X, "target": classes}),
        ("cross_entropy", {**smooth, "ignore_index": 2}, {"input": X, "target": classes, "weight": weight}),
        ("cross_entropy", smooth, {"input": X, "target": PROBABILITIES, "weight": weight}),
        ("cross_entropy", smooth, {"input": [5], "target": {"shape": [], "dtype": "int64", "range": [0, 5]}}),
    ]
    for name, options, inputs in cases:
        assert_same(of_operation(name, options, inputs), tmp_path / "loss.onnx")


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
def test_blur_pool(mode: str, tmp_path: Path) -> None:
    for options, shape in (({"filt_size": 3}, [2, 4, 9, 8]), ({"filt_size": 5, "channels": 3}, [3, 8, 8])):
        network = of_operation("blur_pool2d", {"pad_mode": mode, **options}, {"input": shape})
        assert_same(network, tmp_path / "blur.onnx")


@pytest.mark.parametrize("options", [{"kernel": 2}, {"kernel": 3, "stride": 2, "ceil_mode": True}])
@pytest.mark.parametrize(("name", "shape"), [("lp_pool1d", [2, 3, 8]), ("lp_pool2d", [3, 8, 7])])
def test_lp_pool(name: str, shape: list[int], options: dict[str, Any], tmp_path: Path) -> None:
    inputs = {"input": {"shape": shape, "range": [0, 2]}}
    assert_same(of_operation(name, {"norm_type": 2.5, **options}, inputs), tmp_path / "pool.onnx")


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"])
def test_bits(name: str, dtype: str, tmp_path: Path) -> None:
    x: dict[str, Any] = {"shape": [4, 6], "dtype": dtype, **({"range": [-100, 100]} if dtype == "int64" else {})}
    inputs = {"input": x, **({} if name == "bitwise_not" else {"other": x})}
    layer = {"name": "y", "from": list(inputs), name: {}}
    assert_same(netcalc.load_data({"netcalc": 1, "inputs": inputs, "layers": [layer]}), tmp_path / "bits.onnx")


def test_halves_are_rounded_to_even(tmp_path: Path) -> None:
    layers = ["floor", {"mul": 0.5}, "round"]
    document = {"netcalc": 1, "inputs": {"x": {"shape": [4, 9], "range": [-9, 9]}}, "layers": layers}
    assert_same(netcalc.load_data(document), tmp_path / "round.onnx")
