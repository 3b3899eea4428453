"""Total size: inputs, parameters, buffers and activations."""

from __future__ import annotations

from math import prod

import pytest

import netcalc
from netcalc.analysis.sizes import Sizes


def sizes(spec: str, **options: object) -> Sizes:
    return netcalc.load(spec, **options).summary().sizes  # type: ignore[arg-type]


def test_a_multi_layer_perceptron_by_hand() -> None:
    """784 → 512 → 256 → 10 with ReLU behind the hidden layers, in four bytes."""
    parameters = 4 * (784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10)
    activations = 4 * (2 * 512 + 2 * 256 + 10)
    assert sizes("mlp") == (4 * 784, parameters, 0, activations, 4 * 784 + parameters + activations)
    assert sizes("mlp", set={"batch": 3}).activations == 3 * activations
    assert sizes("mlp", dtype="float64").activations == 2 * activations


def test_views_have_no_bytes_of_their_own() -> None:
    text = "netcalc: 1\ninputs: {x: [2, 3, 4]}\nlayers: [relu, flatten, {unsqueeze: 1}, {transpose: [1, 2]}, relu]\n"
    assert netcalc.loads(text).summary().sizes.activations == 2 * 24 * 4


@pytest.mark.parametrize("spec", ["resnet18", "gpt2", "deepseek-v2-lite", "lstm-lm-ptb-small"])
def test_folded_is_unrolled(spec: str) -> None:
    network = netcalc.load(spec)
    unrolled = network.summary(unroll=True)
    views = {"flatten", "reshape", "transpose", "unflatten", "permute", "expand", "squeeze", "unsqueeze", "select"}
    views |= {"split", "chunk", "slice", "identity", "narrow", "diagonal"}
    outputs = (type_ for layer in unrolled.layers if layer.op not in views for type_ in layer.outputs)
    width = {"float32": 4, "int64": 8, "bool": 1, "bfloat16": 2}
    assert unrolled.sizes.activations == sum(prod(type_.shape) * width[type_.dtype] for type_ in outputs)
    assert network.summary().sizes == unrolled.sizes


def test_symbolic_sizes_are_those_of_numbers() -> None:
    symbolic = sizes("gpt2", symbolic=["length", "batch"])
    numbers = sizes("gpt2", set={"length": 64, "batch": 3})
    at = {"length": 64, "batch": 3}
    assert tuple(size if isinstance(size, int) else size.at(at) for size in symbolic) == tuple(numbers)
