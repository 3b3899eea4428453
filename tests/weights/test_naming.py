"""Arrays under the names of a checkpoint: the inverse of loading, checked by loading them again."""

from __future__ import annotations

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.numerics.parameters import Parameters

SPEC = """
netcalc: 1
inputs: {x: [2, 6]}
layers:
  - {name: q, linear: {out: 4, bias: false}}
  - {name: k, from: x, linear: {out: 4}}
  - {name: up, from: x, linear: {out: 4, bias: false}}
  - {name: stages, repeat: 2, sequence: [linear: {out: 4, bias: false}]}
  - {from: [q, k, up, stages], add: {}}
checkpoint:
  q.weight: {from: both, chunk: [0, 2], reference: true}
  k.weight: {from: both, chunk: [1, 2], reference: true}
  k.bias: {any: [first_bias, other_bias], reference: true}
  up.weight: {from: [first, {from: rest, transpose: true}], axis: 0}
  "stages.{i}.0.weight": {from: "layer${i + 1}.weight", transpose: true, reference: true}
"""


def _stored() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = {
        "both": (8, 6),
        "first_bias": (4,),
        "first": (1, 6),
        "rest": (6, 3),
        "layer1.weight": (4, 4),
        "layer2.weight": (4, 4),
    }
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def test_arrays_as_a_checkpoint_stores_them_are_its_tensors() -> None:
    program, stored = netcalc.loads(SPEC).program, _stored()
    parameters = Parameters(program, stored)
    found = netcalc.loads(SPEC).gradients(weights=stored)
    loaded = {path: _loaded(path, stored) for path in found.parameters}
    named = parameters.named_as_stored(loaded)
    assert named.keys() == stored.keys()
    assert all(np.array_equal(named[name], stored[name]) for name in stored)
    assert found.tensors.keys() == stored.keys()
    assert np.array_equal(found.named["both"][4:], found.parameters["k.weight"])
    assert np.array_equal(found.named["rest"], found.parameters["up.weight"][1:].T)


def _loaded(path: str, stored: dict[str, np.ndarray]) -> np.ndarray:
    return {
        "q.weight": stored["both"][:4],
        "k.weight": stored["both"][4:],
        "k.bias": stored["first_bias"],
        "up.weight": np.concatenate([stored["first"], stored["rest"].T]),
        "stages.0.0.weight": stored["layer1.weight"].T,
        "stages.1.0.weight": stored["layer2.weight"].T,
    }[path]


def test_without_a_checkpoint_names_are_those_of_the_reference() -> None:
    found = netcalc.loads(SPEC).gradients()
    assert set(found.named) == {"both", "first_bias", "up.weight", "layer1.weight", "layer2.weight"}
    assert np.array_equal(found.named["layer2.weight"], found.parameters["stages.1.0.weight"].T)


def test_a_part_of_a_tensor_has_the_path_of_its_parameter() -> None:
    found = netcalc.loads(SPEC).gradients(wrt=["q.weight", "k.bias", "x"])
    assert set(found.tensors) == {"q.weight", "first_bias", "x"}


def test_trained_parameters_have_these_names_and_load_again() -> None:
    net = netcalc.loads(SPEC)
    trained = net.train(1, loss="sum", training="sgd")
    assert {"both", "layer1.weight"} <= trained.tensors.keys()
    again = net.train(1, loss="sum", training="sgd", weights=trained.tensors)
    assert again.losses != trained.losses


def test_reference_is_beside_any() -> None:
    with pytest.raises(NetcalcError, match="cannot be given beside 'any'"):
        netcalc.loads(
            SPEC.replace("[first_bias, other_bias], reference", "[first_bias, other_bias], axis: 1, reference")
        )
