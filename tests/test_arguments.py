"""Arguments of wrong types in the Python API, and NumPy scalars among them."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.engine.compiled import Compiled

SPEC = {"netcalc": 1, "inputs": {"x": [2, 3]}, "layers": [{"linear": 4}, {"dropout": 0.5}]}
TEXT = """
netcalc: 1
name: small
dims: {batch: 2}
vars: {widths: [4, 5], rate: 0.5}
inputs: {x: ['${batch}', 3]}
layers: [{linear: '${widths[0]}'}]
"""
NET: Any = netcalc.loads(TEXT)
API: Any = netcalc
NO_PATHS = (3, None, b"mlp", [], object())
NO_NAMES = (3, None, "batch", [3], [[]], b"batch")
NO_FLAGS = ("yes", 2, None)
NO_TEXTS = (3, [], None, b"x")
NO_WHOLE = ("x", 1.5, True, [])

#: An argument, a call with a value of it, and values of wrong types.
WRONG: list[tuple[str, Callable[[Any], Any], tuple[Any, ...]]] = [
    ("spec", lambda v: API.load(v), NO_PATHS),
    ("spec", lambda v: API.describe(v), NO_PATHS),
    ("spec", lambda v: API.compare(NET, v), NO_PATHS),
    ("text", lambda v: API.loads(v), NO_TEXTS),
    ("folder", lambda v: API.loads(TEXT, folder=v), (3, b"x", [])),
    ("folder", lambda v: API.load_data(SPEC, folder=v), (3, b"x", [])),
    ("max_spec_size", lambda v: API.loads(TEXT, max_spec_size=v), (*NO_WHOLE, None, -1)),
    ("set", lambda v: API.loads(TEXT, set=v), ([1], "abc", {1: 2}, 3)),
    ("symbolic", lambda v: API.loads(TEXT, symbolic=v), NO_NAMES),
    ("mode", lambda v: API.loads(TEXT, mode=v), (3, [], b"x", True)),
    ("dtype", lambda v: API.loads(TEXT, dtype=v), (7, np.float32, [])),
    ("convention", lambda v: NET.analysis(v), NO_TEXTS),
    ("convention", lambda v: NET.cost(v), NO_TEXTS),
    ("convention", lambda v: NET.summary(v), NO_TEXTS),
    ("convention", lambda v: API.compare(NET, NET, convention=v), (3, [3], None, b"x")),
    ("convention", lambda v: API.describe("mlp", convention=v), NO_TEXTS),
    ("convention", lambda v: NET.explain(convention=v), NO_TEXTS),
    ("depth", lambda v: NET.summary(depth=v), (*NO_WHOLE, 0, -1)),
    ("depth", lambda v: NET.analysis().rows(depth=v), NO_WHOLE),
    ("depth", lambda v: API.compare(NET, NET).rows(depth=v), NO_WHOLE),
    ("unroll", lambda v: NET.summary(unroll=v), NO_FLAGS),
    ("path", lambda v: NET.explain(v), (3, [], b"x")),
    ("sizes", lambda v: API.loads(TEXT, symbolic=["batch"]).macs.at(v), (3, None, [1])),
    ("inputs", lambda v: NET.run(v), (3, "x", [], {1: 2})),
    ("inputs", lambda v: NET.compile(threads=1)(v), (3, "x", [], {1: 2})),
    ("inputs", lambda v: NET.compile(threads=1).profile(v), (3, [])),
    ("passes", lambda v: NET.compile(threads=1).profile(passes=v), (*NO_WHOLE, 0)),
    ("weights", lambda v: NET.run(weights=v), (3, [3], {1: 2}, b"x")),
    ("weights", lambda v: NET.compile(v), (3, [3], {1: 2})),
    ("weights", lambda v: NET.verify(weights=v), (3, [3], {1: 2})),
    ("init", lambda v: NET.run(init=v), (3, None, [3])),
    ("init", lambda v: NET.compile(init=v), (3, None, [3])),
    ("seed", lambda v: NET.run(seed=v), (*NO_WHOLE, None, -1)),
    ("seed", lambda v: NET.compile(seed=v), (*NO_WHOLE, None, -1)),
    ("seed", lambda v: NET.verify(seed=v), (*NO_WHOLE, None, -1)),
    ("trace", lambda v: NET.run(trace=v), (3, None, [3], "linear")),
    ("plan", lambda v: NET.run(plan=v), NO_TEXTS),
    ("threads", lambda v: NET.run(threads=v), NO_WHOLE),
    ("threads", lambda v: NET.compile(threads=v), NO_WHOLE),
    ("max_work", lambda v: NET.run(max_work=v), ("x", True, [], 0, -1.0, float("nan"))),
    ("max_work", lambda v: NET.compile(max_work=v), ("x", True, 0)),
    ("max_work", lambda v: NET.verify(max_work=v), ("x", True, 0)),
    ("progress", lambda v: NET.run(progress=v), (3, "x")),
    ("progress", lambda v: NET.verify(progress=v), (3, "x")),
    ("inits", lambda v: NET.compare_signal(v), NO_NAMES),
    ("steps", lambda v: NET.train(v), (*NO_WHOLE, None, 0)),
    ("data", lambda v: NET.train(data=v), (3, None, {1: 2}, b"x")),
    ("training", lambda v: NET.train(training=v), (3, [], b"x")),
    ("lr", lambda v: NET.train(lr=v), ("x", True, [], -1.0, float("nan"))),
    ("settings", lambda v: NET.train(settings=v), (3, "x", {1: 2}, {"eps": "x"}, {"eps": -1})),
    ("loss", lambda v: NET.train(loss=v), (3, {"y": None}, b"x")),
    ("schedule", lambda v: NET.train(schedule=v), NO_TEXTS),
    ("warmup", lambda v: NET.train(warmup=v), (*NO_WHOLE, None, -1)),
    ("least_lr", lambda v: NET.train(least_lr=v), ("x", None, -1.0)),
    ("clip", lambda v: NET.train(clip=v), ("x", True, 0, float("nan"))),
    ("checkpoint_file", lambda v: NET.train(checkpoint_file=v), (3, b"x")),
    ("checkpoint_every", lambda v: NET.train(checkpoint_every=v), (*NO_WHOLE, 0)),
    ("resume", lambda v: NET.train(resume=v), (3, b"x")),
    *((flag, lambda v, f=flag: NET.run(**{f: v}), NO_FLAGS) for flag in ("keep", "processes", "profiled", "cast")),
    *((flag, lambda v, f=flag: NET.verify(**{f: v}), NO_FLAGS) for flag in ("cast", "receptive_field", "values")),
]


@pytest.mark.parametrize(("name", "call", "values"), WRONG, ids=[f"{i}-{row[0]}" for i, row in enumerate(WRONG)])
def test_a_wrong_type_is_an_error_that_names_the_argument(
    name: str, call: Callable[[Any], Any], values: tuple[Any, ...]
) -> None:
    for value in values:
        with pytest.raises(NetcalcError) as caught:
            call(value)
        (problem,) = caught.value.diagnostics
        assert problem.code == "E502", value
        assert problem.message.startswith(f"the argument {name!r} should be "), value


def test_a_string_in_place_of_a_list_has_a_hint() -> None:
    with pytest.raises(NetcalcError, match=r"write \['batch'\]"):
        netcalc.loads(TEXT, symbolic="batch")


def test_arguments_that_exist_in_no_function_are_type_errors() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'sed'"):
        NET.run(sed=3)
    with pytest.raises(TypeError, match="positional argument"):
        API.load("mlp", {})


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize("value", [object(), {1, 2}, [object()], [{1: 2}], CIRCLE, np.zeros(2), 1j, [np.complex64(1)]])
def test_values_of_settings_that_no_spec_can_hold(value: Any) -> None:
    for name in ("widths", "batch"):
        with pytest.raises(NetcalcError) as caught:
            netcalc.loads(TEXT, set={name: value})
        assert [problem.code for problem in caught.value.diagnostics] == ["E501"]


WHOLE = [np.int64, np.int32, np.uint8, np.array]


@pytest.mark.parametrize("number", WHOLE)
def test_numpy_integers_are_numbers(number: Callable[[int], Any]) -> None:
    net = netcalc.loads(TEXT, set={"batch": number(7), "widths": [number(6)]})
    assert net.macs == 7 * 3 * 6
    assert type(net.macs) is int
    assert str(netcalc.loads(TEXT, symbolic=["batch"]).specialize(batch=number(7)).macs) == str(7 * 3 * 4)
    data = {**SPEC, "inputs": {"x": [number(2), 3]}, "layers": [{"linear": number(6)}]}
    assert netcalc.load_data(data).params == 6 * 4
    assert netcalc.load_data(SPEC).summary(depth=number(1)).layers
    seeds = [NET.run(seed=seed, threads=number(1)) for seed in (5, number(5))]
    assert type(seeds[1].seed) is int
    assert np.array_equal(seeds[0].outputs["output"], seeds[1].outputs["output"])


@pytest.mark.parametrize("number", [np.float64, np.float32, np.float16, np.array])
def test_numpy_floats_are_numbers(number: Callable[[float], Any]) -> None:
    used = netcalc.loads(TEXT, set={"rate": number(0.25)}).program.vars["rate"]
    assert (used, type(used)) == (0.25, float)
    layers = netcalc.load_data({**SPEC, "layers": [{"dropout": number(0.25)}]}).program.main.nodes
    assert "0.25" in repr(layers[0].op)
    with pytest.raises(NetcalcError, match="whole number"):
        netcalc.loads(TEXT, set={"batch": number(2.5)})


@pytest.mark.parametrize("boolean", [np.bool_, np.array])
def test_numpy_booleans_are_booleans(boolean: Callable[[bool], Any]) -> None:
    assert netcalc.load_data({**SPEC, "layers": [{"linear": {"out": 4, "bias": boolean(False)}}]}).params == 12
    assert netcalc.loads(TEXT).summary(backward=boolean(True)).phases == {"forward", "backward"}
    with pytest.raises(NetcalcError, match="whole number"):
        netcalc.loads(TEXT, set={"batch": boolean(True)})


def test_a_refused_number_of_threads_leaves_other_runs_alone() -> None:
    session = Compiled(NET.program, threads=1)
    for threads in ("x", 1.5):
        with pytest.raises(NetcalcError):
            NET.run(threads=threads)
    assert session(x=np.zeros((2, 3), np.float32))["output"].shape == (2, 4)


def test_numpy_is_not_imported_to_check_arguments() -> None:
    code = (
        "import sys, netcalc; netcalc.load('mlp', set={'hidden': [3]}).summary(depth=1); print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


MIXTURE = """
netcalc: 1
inputs:
  x: [3, 4]
  weights: [3, 2]
  indices: {shape: [3, 2], dtype: int64, range: [0, 100]}
layers:
  - {name: computed, from: indices, sub: {value: 0}} # an input itself may not hold such indices
  - experts: {experts: 5, hidden: 2}
    from: [x, weights, computed]
"""


@pytest.mark.parametrize(("plan", "index"), list(itertools.product(["fast", "reference"], [-1, 5])))
def test_an_expert_that_does_not_exist(plan: Any, index: int) -> None:
    spec = MIXTURE.replace("range: [0, 100]", "range: [-9, 100]")
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads(spec).run({"indices": np.full((3, 2), index)}, plan=plan)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E602"
    assert "experts are 0 to 4" in problem.message
    assert problem.span is not None


def test_weights_of_no_class() -> None:
    layer = {"binary_cross_entropy_with_logits": {"pos_weight": []}, "from": ["x", "y"]}
    with pytest.raises(NetcalcError) as caught:
        netcalc.load_data({"netcalc": 1, "inputs": {"x": [2, 3], "y": [2, 3]}, "layers": [layer]})
    (problem,) = caught.value.diagnostics
    assert problem.code == "E104"
    assert "pos_weight" in problem.message
    assert "at least one number" in problem.message
