"""Nodes that are computed once, when the parameters are loaded."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc import loads
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.ir import Program

#: A mask of windows: a reshape of it copies.
WINDOWS = """
netcalc: 1
inputs: {x: [2, 4, 4]}
layers:
  - {name: numbers, arange: {stop: 16}}
  - reshape: [2, 2, 2, 2]
  - permute: [0, 2, 1, 3]
  - {name: regions, reshape: [4, 4]}
  - {name: near, less: 9}
  - cast: float32
  - {name: mask, mul: -3.0}
  - {from: [x, mask], add: {}}
"""

BIAS = """
netcalc: 1
inputs: {x: [2, 5, 8], memory: [2, 7, 8]}
layers:
  - {name: first, relu: {}, from: x}
  - {name: bias, t5_position_bias: {num_heads: 2}, from: [first, memory]}
  - {name: slopes, alibi_bias: {num_heads: 2}, from: [first, memory]}
  - {name: rows, learned_positions: {max_length: 6, add: false}, from: first}
  - {name: waves, sinusoidal_positions: {add: false}, from: first}
  - {name: total, from: [bias, slopes], add: {}}
outputs: [total, rows, waves]
"""


def operations(net: Program) -> tuple[list[str], list[str]]:
    """Return the operations of the steps that run once, and in every pass."""
    plan = Plan(net)
    prelude, steps = ([step.what or step.node.op.name for step in some] for some in (plan.prelude, plan.steps))
    return prelude, steps


def test_a_chain_of_constants_is_computed_once_although_a_view_copies() -> None:
    prelude, steps = operations(loads(WINDOWS).program)
    assert prelude == ["arange", "copy", "less", "cast", "mul"]
    assert steps == ["add"]


def test_what_depends_on_sizes_and_parameters_is_computed_once() -> None:
    prelude, steps = operations(loads(BIAS).program)
    assert prelude == ["t5_position_bias", "alibi_bias", "learned_positions", "sinusoidal_positions", "add"]
    assert steps == ["relu"]


@pytest.mark.parametrize("spec", [WINDOWS, BIAS])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_those_of_the_reference_path(spec: str, threads: int) -> None:
    net = loads(spec).program
    rng = np.random.default_rng(0)
    inputs = {value.name: rng.normal(size=value.type.shape).astype(np.float32) for value in net.inputs}
    fast = forward(net, inputs, plan="fast", threads=threads).outputs
    expected = forward(net, inputs, plan="reference").outputs
    for name, array in expected.items():
        np.testing.assert_array_equal(fast[name], array)
