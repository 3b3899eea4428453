"""Gradients held against central differences: faults of products and of the tape, and values that are not compared."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from netcalc.numerics import tape
from netcalc.numerics.vjps import VJPS
from netcalc.verification.report import VerifyReport
from netcalc.verification.verify import verify
from tests.exhaustive.mutation import executed
from tests.numerics.programs import TIED, program

IMAGE = "inputs: {x: [2, 3, 5, 5]}\nlayers: [{conv2d: {out: 4, kernel: 3}}, {batch_norm: {}}, relu, flatten, softmax]\n"
TEXT = "inputs: {x: [5, 2, 6]}\nlayers: [{lstm: 4}, {gru: 4}]\n"
#: Regions of computed boxes, which have no gradient though the outputs depend on them.
REGIONS = """
inputs: {x: [2, 3, 6, 5], raw: {shape: [2, 2, 4], range: [0, 3]}}
layers:
  - {name: conv, from: x, conv2d: {out: 4, kernel: 1}}
  - {name: boxes, from: raw, linear: 4}
  - {from: [conv, boxes], roi_align: {output_size: 2, sampling_ratio: 2}}
  - tanh
outputs: [tanh, boxes]
"""
MEAN = "y * (g - mean)", "y * (g - mean + mean)"

#: A family, what is changed in its products, a network, its mode, and the layer and gradient that differ.
FAULTS = [
    ("softmax", *MEAN, IMAGE, False, "softmax", "input"),
    ("rectifier", "select(y <= 0, 0, g)", "select(y > 0, 0, g)", IMAGE, False, "relu", "input"),
    ("recurrent", "of_f * (f * (1 - f))", "of_f * (f * (1 - i))", TEXT, False, "lstm", "input"),
    ("batch_norm", "(g * rest, axis=axes)", "(g * g, axis=axes)", IMAGE, False, "batch_norm", "weight"),
    ("batch_norm", "(products * root, axis=0)", "(products + root, axis=0)", IMAGE, True, "batch_norm", "weight"),
    (
        "roi_align",
        "spread * weight[..., None]",
        "spread * weight[..., None] ** 2",
        REGIONS,
        False,
        "roi_align",
        "input",
    ),
    ("conv", "np.add.reduce(g, axis=(0", "np.add.reduce(g * g, axis=(0", IMAGE, False, "conv2d", "bias"),
]


def compared(text: str, *, training: bool = False) -> VerifyReport:
    return verify(program(text, training=training), values=True, backward=True)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("text", [IMAGE, TEXT, TIED, REGIONS])
def test_gradients_that_agree(text: str, training: bool) -> None:
    report = compared(text, training=training)
    assert report.ok
    assert report.counts["gradients"] > 1
    assert {count.op for count in report.gradients} == {check.op for check in report.checks if check.op}
    assert not [gap for gap in report.gaps if "gradient" in gap.what]


@pytest.mark.parametrize(("family", "old", "new", "text", "training", "layer", "source"), FAULTS)
def test_a_fault_of_a_product_is_found_in_its_layer(
    family: str, old: str, new: str, text: str, training: bool, layer: str, source: str
) -> None:
    module = import_module(f"netcalc.numerics.vjps.{family}")
    right = inspect.getsource(module)
    assert old in right
    with executed(module, ast.parse(right.replace(old, new)), (VJPS,)):
        failures = compared(text, training=training).failures
    found = [(check.path, check.what) for check in failures if check.group == "gradients"]
    assert (layer, f"gradient values of {source}") in found
    assert {path for path, _ in found} == {layer, ""}  # and no other layer


def test_a_fault_of_the_tape_is_found_in_the_whole_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the gradients of a tensor that is used twice counts twice."""
    right = tape._run_product

    def doubled(record: Any, *given: Any) -> Any:
        factors = {"weight": 2 if record.instance.path == "b" else 1}
        return {source: factors.get(source, 1) * gradient for source, gradient in right(record, *given).items()}

    monkeypatch.setattr(tape, "_run_product", doubled)
    failures = [check for check in compared(TIED).failures if check.group == "gradients"]
    assert [(check.path, check.what) for check in failures] == [("", "gradient values")]


@pytest.mark.parametrize(
    ("layers", "inputs"),
    [
        ("[{abs: {}}]", [np.zeros((2, 3), np.float32)]),
        ("[{max_pool2d: 2}]", [np.zeros((1, 1, 4, 4), np.float32)]),
        ("[{relu: {}}]", [np.zeros((2, 3), np.float32)]),
        ("[{relu: {}}]", [np.repeat(np.float32([0, 1]), 100_000)]),
    ],
)
def test_points_at_kinks_are_drawn_again(layers: str, inputs: Sequence[np.ndarray]) -> None:
    text = f"inputs: {{x: {list(inputs[0].shape)}}}\nlayers: {layers}\n"
    report = verify(program(text), {"x": inputs[0]}, values=True, backward=True)
    assert report.ok and report.gradients


def test_gradients_that_are_no_derivatives_are_gaps() -> None:
    """As in PyTorch rows of padding have none, and the limit of norms is left out."""
    text = "inputs: {x: {shape: [2, 3], dtype: int64, range: [0, 4]}}\nlayers: [{embedding: {%s}}]\n"
    text %= "num_embeddings: 4, embedding_dim: 3, %s"
    padded = compared(text % "padding_idx: 1")
    assert padded.ok and padded.gradients
    limited = compared(text % "max_norm: 0.5")
    assert limited.ok and not limited.gradients
    assert "the limit on the norm of rows is no part of the gradient" in {gap.reason for gap in limited.gaps}


def test_values_of_a_stated_type_are_gaps() -> None:
    report = compared("inputs: {x: [2, 3]}\nlayers: [{linear: 4}, {cast: {dtype: float16}}]\n")
    assert report.ok and [count.op for count in report.gradients] == ["linear"]
    assert "values are rounded to float16, which the spec states" in {gap.reason for gap in report.gaps}


def test_only_with_both_options() -> None:
    for options in ({"values": True}, {"backward": True}):
        report = verify(program(IMAGE), **options)
        assert not report.gradients and "gradients" not in report.counts
