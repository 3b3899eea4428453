"""Buffers whose value lines compute: counted as buffers, computed where no checkpoint holds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from netcalc.analysis.cost import analyze
from netcalc.engine.run import PlanName, forward
from netcalc.ir import CallNode, OpNode, Program
from netcalc.ir.check import ProgramError, check
from netcalc.ir.specialize import specialize
from netcalc.numerics.parameters import check_weights
from netcalc.verification.verify import verify
from tests.spec.harness import layer_problems, layers, params, program, shapes

RAMP = """
dims: {batch: 2, length: 5}
vars: {factor: 3}
inputs: {x: [batch, length]}
blocks:
  counted:
    inputs: []
    args: {stop: int}
    layers: [{arange: "${stop}"}]
layers:
  - name: layers
    repeat: 3
    sequence:
      - name: ramp
        buffer:
          computed:
            - {counted: {stop: "${x.length}"}}
            - {mul: {value: "${factor}"}}
            - {cast: float64}
      - {from: [x, ramp], add: {}}
"""
PATHS = {f"layers.{i}.ramp" for i in range(3)}


def buffer(net: Program) -> OpNode:
    """Return the first buffer of a repeat."""
    call = net.main.nodes[0]
    assert isinstance(call, CallNode)
    node = call.body.nodes[0]
    assert isinstance(node, OpNode)
    return node


def output(net: Program, plan: PlanName = "fast", weights: dict[str, np.ndarray] | None = None) -> np.ndarray:
    """Return the output for an input of zeros: in RAMP the buffer of the last iteration."""
    return forward(net, {"x": np.zeros((2, 5), np.float32)}, weights=weights, plan=plan).outputs["output"]


def test_its_lines_are_no_work_and_no_layers() -> None:
    found = program(RAMP)
    total = analyze(found).total
    assert (int(total.params), int(total.buffers), int(total.macs)) == (0, 15, 0)
    assert int(total.flops) == 2 * 5 * 3  # the sums with x
    assert set(params(found)) == PATHS
    assert set(shapes(found)) == PATHS | {f"layers.{i}.0" for i in range(3)}
    assert len(found.main.nodes) == 1  # equal iterations stay one call


@pytest.mark.parametrize("plan", ["fast", "reference"])
def test_its_value_is_that_of_the_lines(plan: PlanName) -> None:
    found = program(RAMP)
    value = output(found, plan)
    assert value.dtype == np.float32  # that of the program
    np.testing.assert_array_equal(value, np.tile([0, 3, 6, 9, 12], (2, 1)))
    assert verify(found).ok


def test_a_checkpoint_may_hold_it() -> None:
    found = program(RAMP)
    report = check_weights(found, {})
    assert report.ok
    held = {"layers.2.ramp": np.ones(5, np.float32)}
    assert check_weights(found, held).ok
    np.testing.assert_array_equal(output(found, weights=held), np.ones((2, 5)))
    wrong = check_weights(found, {"layers.2.ramp": np.ones(4, np.float32)})
    assert [m.kind for m in wrong.mismatches] == ["shape"]


def test_a_checkpoint_is_not_read_if_it_is_not_persistent() -> None:
    found = program(RAMP.replace("buffer:", "buffer:\n          persistent: false"))
    np.testing.assert_array_equal(output(found, weights={"layers.2.ramp": np.ones(5, np.float32)})[0], 3 * np.arange(5))


def test_symbolic_sizes() -> None:
    found = program(RAMP, symbolic=("length",))
    assert shapes(found)["layers.0.ramp"] == "length"
    at = specialize(found, {"length": 5})
    check(at)
    np.testing.assert_array_equal(output(at), np.tile([0, 3, 6, 9, 12], (2, 1)))


def test_integers_keep_their_type() -> None:
    found = layers(
        "- {name: t, buffer: {computed: [{arange: 4}]}}\n- {name: f, buffer: {computed: [{arange: 4}], dtype: bool}}"
    )
    assert [v.known_type.dtype for n in found.main.nodes for v in n.outputs] == ["int64", "bool"]


def test_a_repeated_buffer() -> None:
    found = layers('- {name: t, repeat: 2, buffer: {computed: [{constant: "${[index + 1.0, 2.0]}"}]}}')
    assert set(params(found)) == {"t.0", "t.1"}
    assert forward(found).outputs["output"].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("{computed: [{from: x, sin: {}}]}", "E303", "this line uses the value 'x'"),
        ("{computed: [{sequence: [{from: in, sin: {}}]}]}", "E303", "this line uses the value 'x'"),
        ("{computed: [{arange: 4}, {unsqueeze: 0}, {cast: float32}, {linear: 3}]}", "E107", "of their own: linear"),
        ("{computed: [{buffer: {value: 1.0}}]}", "E107", "of their own: buffer"),
        ("{computed: [{arange: 4}], value: 1.0}", "E104", "buffer: the value is given or computed, not both"),
        ("{computed: [{arange: 4}], shape: [5]}", "E401", "the value is 4, and its shape is 5"),
        ("{computed: 5}", "E107", "computed: should be a list of lines"),
        ("{computed: []}", "E107", "computed: should be a list of lines"),
        ("{computed: [{arange: 0}]}", "E401", "arange from 0 to 0"),
    ],
)
def test_refusals(line: str, code: str, message: str) -> None:
    (found,) = layer_problems(f"- relu\n- {{name: t, buffer: {line}}}")
    assert (found.code, message in found.message) == (code, True), found
    assert found.span is not None and found.span.line == 5


def test_a_body_with_inputs_is_malformed() -> None:
    found = program(RAMP)
    node = buffer(found)
    assert node.computed is not None
    node.computed = replace(node.computed, inputs=(found.main.inputs[0],))
    with pytest.raises(ProgramError, match="has inputs"):
        check(found)
