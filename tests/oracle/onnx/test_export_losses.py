"""Losses and blurred pooling with drawn attributes and inputs, written in ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
