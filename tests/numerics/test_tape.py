"""Tapes: the memory that they hold, and gradients of what is used more than once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.saved import saved_bytes, saved_tensors
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Tape
from tests.numerics.programs import TIED, program
from tests.zoo.harness import SMALL, built


def recorded(network: Program) -> Tape:
    """Return the tape of a forward pass on drawn inputs and parameters."""
    parameters = Parameters(network)
    tape = Tape(network, parameters.fetch, lambda path: True, frozenset(), generator(0, "/run"), run_operation)
    tape.run([*run_inputs(network)])
    return tape


def assert_holds_what_is_declared(network: Program) -> None:
    declared, tape = saved_tensors(network), recorded(network)
    held = [(record.instance.path, saved.name) for record in tape.records for saved in record.declared]
    assert held == [(tensor.path, tensor.saved.name) for tensor in declared]
    for record in tape.records:
        for saved in record.declared:
            array = record.saved[saved.name]
            assert (array.shape, array.dtype.name) == (saved.type.shape, saved.type.dtype), record.instance.path
    assert tape.saved_bytes == saved_bytes(declared)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", sorted(SMALL))
def test_memory_of_shipped_specs(name: str) -> None:
    assert_holds_what_is_declared(built(name, **SMALL[name]))


_GRID = "{linear: 6}, {unflatten: {axis: 1, sizes: [2, 3]}}"
VIEWS = {
    "a tensor that two operations save counts once": "[relu, {linear: 4}, {linear: 4}]",
    "a view counts with its memory": "[{linear: 6}, {slice: {axis: 1, stop: 2}}, {linear: 3}]",
    "a reshape of a transpose is a copy": f"[{_GRID}, {{transpose: [1, 2]}}, flatten, {{linear: 2}}]",
    "a reshape of a tensor in order is a view": f"[{_GRID}, flatten, {{linear: 2}}]",
    "dropout passes its input on": "[{linear: 6}, {dropout: 0.5}, {linear: 2}]",
}


@pytest.mark.parametrize("layers", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("training", [False, True])
def test_memory_of_views(layers: str, training: bool) -> None:
    assert_holds_what_is_declared(program(f"inputs: {{x: [3, 4]}}\nlayers: {layers}\n", training=training))


def test_a_frozen_layer_saves_nothing_for_its_weight() -> None:
    text = "inputs: {x: [3, 4]}\nlayers: [{name: a, linear: 5, freeze: true}, {name: b, linear: 2}]\n"
    (only,) = saved_tensors(program(text))
    assert (only.path, only.saved.name) == ("b", "input")


def test_gradients_of_tied_and_shared_weights_add_up() -> None:
    """Untied copies with the same weights have gradients whose sum is the gradient of the tied one."""
    tied = netcalc.loads("netcalc: 1" + TIED)
    weights = {name: np.array(a) for name, a in _weights(tied).items()}
    untied = netcalc.loads("netcalc: 1" + TIED.replace(", tie: {weight: a.weight}", ""))
    alone = {**weights, "b.weight": weights["a.weight"]}
    x = np.random.default_rng(0).normal(size=(2, 6)).astype("float32")
    together, apart = (
        network.gradients({"x": x}, weights=given).parameters for network, given in ((tied, weights), (untied, alone))
    )
    np.testing.assert_allclose(together["a.weight"], apart["a.weight"] + apart["b.weight"], rtol=1e-5)
    assert "b.weight" not in together


def _weights(network: netcalc.Network) -> dict[str, Any]:
    found = {}
    from netcalc.analysis.walk import instances

    fetch = Parameters(network.program).fetch
    for instance in instances(network.program):
        for param in instance.node.params:
            found[instance.owners[param.name]] = fetch(instance, param)
    return found


def test_a_pass_uses_the_tape_up() -> None:
    network = program(TIED)
    tape = recorded(network)
    assert tape.saved_bytes > 0
    list(tape.backward({}))
    assert tape.saved_bytes == 0


def test_gradients_beyond_the_largest_half_are_infinite_without_a_warning() -> None:
    net = netcalc.loads(
        "netcalc: 1\ndtype: float16\n"
        "inputs: {x: {shape: [1, 7, 12, 7, 7], dtype: float16, range: [0.25, 0.75]}}\n"
        "layers: [{conv_transpose3d: {out: 2, kernel: 2, stride: 8, padding: 0}}]\n"
    )
    assert net.verify(backward=True, seed=63578).ok
