"""Fusion by traits: operations fused onto the one before them, with unchanged results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import numpy_dtype
from netcalc.engine.fuse import fuse, is_elementwise, simplify
from netcalc.engine.graph import flatten
from netcalc.engine.lower.elementwise import lower_elementwise
from netcalc.engine.lower.registry import find_lowering
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from netcalc.ops import every
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from tests.engine.programs import drawn_weights

ELEMENTWISE = sorted(
    name for name, op in every().items() if op.elementwise and not op.no_op_in_inference and len(op.inputs) == 1
)
#: Functions with poles, near which they magnify the rounding of their inputs: compared in float64.
STEEP = ["tan", "atanh", "erfinv", "reciprocal"]
PARTIAL = sorted(name for name, op in every().items() if op.partial)
NORMALIZING = sorted(name for name, op in every().items() if op.normalizes_channels)
NO_OPS = sorted(name for name, op in every().items() if op.no_op_in_inference)


def two_operations(
    line: Any, *, before: Any = None, shape: tuple[int, ...] = (2, 3, 9, 9), dtype: str = "float32"
) -> Program:
    """Return a program of two operations: a convolution, or ``before``, and the operation of ``line``."""
    first = before or {"conv2d": {"out": 4, "kernel": 3, "padding": 1}}
    spec = {"netcalc": 1, "inputs": {"x": list(shape)}, "layers": [first, line]}
    return elaborate(load_text(json.dumps(spec)), dtype=dtype)


def fused_operations(net: Program) -> list[tuple[str, list[str]]]:
    """Return the operations of the fused graph, each with the operations fused onto it."""
    graph = flatten(net)
    simplify(graph, 1 << 20)
    fuse(graph)
    return [(node.op.name, [other.op.name for other in node.after]) for node in graph.nodes]


def example(name: str) -> Any:
    """Return the operation with the attributes of its reference page, as a line of a spec."""
    return {name: dict(every()[name].example.attrs)}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", PARTIAL)
def test_functions_with_an_edge_take_numbers_of_half_precision_as_they_are_stored(name: str, dtype: str) -> None:
    """A number outside the domain that rounds to its edge has the result of the edge."""
    edge, outwards = {"log1p": (-1, -1), "acosh": (1, -1), **dict.fromkeys(("asin", "acos", "atanh"), (1, 1))}.get(
        name, (0, -1)
    )
    before: dict[str, Any] = {"add": {"value": 1e-5 * outwards}}
    if edge == 0:  # a product that rounds to −0
        edge, before = 1, {"mul": {"value": -1e-9 if dtype == "float16" else -1e-42}}
    net = two_operations({name: {}}, before=before, shape=(4,), dtype=dtype)
    x = {"x": np.full(4, edge, numpy_dtype(dtype))}  # type: ignore[arg-type]
    planned, reference = (forward(net, x, plan=plan).outputs["output"] for plan in ("fast", "reference"))
    assert not np.isnan(reference.astype(float)).any()
    np.testing.assert_array_equal(planned.astype(float), reference.astype(float))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operations_are_fused_onto_a_product(name: str) -> None:
    net = two_operations(example(name), dtype="float64" if name in STEEP else "float32")
    assert fused_operations(net) == [("conv2d", [name])]
    _same_results(net)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operations_alone_are_lowered(name: str) -> None:
    net = two_operations(example(name), before={"permute": {"axes": [0, 2, 3, 1]}})
    _same_results(net)
    plan = Plan(net)
    assert not any(step.bind.__module__.endswith("fallback") for step in plan.steps)


def test_elementwise_operations_have_the_common_lowering() -> None:
    combining = {name for name, op in every().items() if op.combines}
    common = {name for name, op in every().items() if find_lowering(op) is lower_elementwise}
    assert {*ELEMENTWISE, *combining, *NORMALIZING} - {"instance_norm"} == common
    assert find_lowering(every()["instance_norm"]) is not None  # a separate one, for statistics of the input


@pytest.mark.parametrize("name", NORMALIZING)
def test_normalization_with_stored_statistics_is_fused_onto_a_product(name: str) -> None:
    """Statistics of the input itself need the whole input first, and prevent fusion."""
    attributes = {} if name == "frozen_batch_norm" else {"track_running_stats": True}
    net = two_operations({name: attributes})
    assert fused_operations(net) == [("conv2d", [name])]
    _same_results(net)
    alone = two_operations({name: attributes}, before={"permute": {"axes": [0, 1, 3, 2]}})
    assert not any(step.bind.__module__.endswith("fallback") for step in Plan(alone).steps)
    _same_results(alone)
    if name != "frozen_batch_norm":
        own = two_operations({name: {"track_running_stats": False}})
        assert fused_operations(own) == [("conv2d", []), (name, [])]
        _same_results(own)


def test_channels_of_a_normalization_are_the_columns_of_the_product() -> None:
    """After a linear layer on a sequence the channels are axis 1, but the columns are the last axis."""
    sequence = two_operations({"batch_norm": {}}, before={"linear": 5}, shape=(2, 3, 4))
    assert fused_operations(sequence) == [("linear", []), ("batch_norm", [])]
    _same_results(sequence)
    rows = two_operations({"batch_norm": {}}, before={"linear": 5}, shape=(2, 4))
    assert fused_operations(rows) == [("linear", ["batch_norm"])]
    _same_results(rows)


@pytest.mark.parametrize("name", NO_OPS)
def test_no_ops_are_removed(name: str) -> None:
    net = two_operations(example(name))
    assert fused_operations(net) == [("conv2d", [])]
    _same_results(net)


def test_operations_on_integers_are_not_fused() -> None:
    spec = {
        "netcalc": 1,
        "inputs": {"x": {"shape": [3], "dtype": "int64", "range": [-2, 3]}},
        "layers": ["sign", "abs"],
    }
    net = elaborate(load_text(json.dumps(spec)))
    assert not any(is_elementwise(node) for node in flatten(net).nodes)
    assert fused_operations(net) == [("sign", []), ("abs", [])]
    _same_results(net)


def _same_results(net: Program) -> None:
    weights = drawn_weights(net, 1)
    inputs = run_inputs(net, seed=2)
    named = {spec.name: array for spec, array in zip(net.inputs, inputs, strict=True)}
    expected = forward(net, named, weights=weights, plan="reference").outputs
    for array, reference in zip(
        Session(Plan(net, 2), Parameters(net, weights))(inputs), expected.values(), strict=True
    ):
        assert array.dtype == reference.dtype
        largest = np.abs(reference[np.isfinite(reference)]).max(initial=0)
        np.testing.assert_allclose(array, reference, rtol=1e-5, atol=1e-5 * max(1, largest))
