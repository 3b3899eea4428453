"""Networks compiled for many runs, and their profiles."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.engine import preflight
from netcalc.engine.compiled import Compiled
from netcalc.engine.profile import Profile
from netcalc.engine.run import forward
from netcalc.weights.writing import write_tensors
from tests.engine.child_processes import child_processes
from tests.engine.programs import drawn_weights
from tests.numerics.programs import program

#: Environment of subprocesses.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(netcalc.__file__).parent.parent)}

TWO = """
inputs: {x: [2, 6], y: {shape: [2, 6], default: 1}}
layers:
  - {name: a, linear: 6, from: x}
  - {name: r, relu: {}}
  - {name: sum, add: {}, from: [r, y]}
  - {name: wide, linear: 50}
outputs: {sum: sum, wide: wide}
"""

IMAGE = """
inputs: {image: [1, 3, 40, 40]}
layers:
  - {name: conv, conv2d: {out: 32, kernel: 3, padding: 1}}
  - {name: bn, batch_norm: {}}
  - {name: act, relu: {}}
  - {name: more, repeat: 2, conv2d: {out: 32, kernel: 5, stride: 2}}
  - {name: drop, dropout: 0.5}
  - {name: flat, flatten: {}}
  - {name: fc, linear: 10}
"""


def test_inputs_are_passed_by_name() -> None:
    net = program(TWO)
    session = Compiled(net, seed=3, threads=2)
    x, y = np.random.default_rng(0).normal(size=(2, 2, 6)).astype("float32")
    for given in ({}, {"x": x}, {"x": x, "y": y}):
        expected = forward(net, given, seed=3, threads=2).outputs
        for outputs in (session(given), session(**given), session({**given, "x": y}, **given) if given else session()):
            assert list(outputs) == ["sum", "wide"]
            for name, array in outputs.items():
                np.testing.assert_array_equal(array, expected[name])


def test_compiling_imports_no_optional_library(tmp_path: Path) -> None:
    """Imported libraries take most of the memory of a small network."""
    (tmp_path / "net.yaml").write_text("netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{name: fc, linear: 4}]\n")
    weights = {"fc.weight": np.ones((4, 3), "float32"), "fc.bias": np.ones(4, "float32")}
    write_tensors(tmp_path / "w.safetensors", weights)
    code = """
import sys, netcalc, numpy
session = netcalc.load("net.yaml").compile("w.safetensors", threads=1)
assert session(x=numpy.ones((2, 3), "float32"))["output"].sum() == 32
print(*sys.modules)
"""
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    heavy = {"ml_dtypes", "multiprocessing", "numpy.random", "statistics", "netcalc.analysis.compare"}
    assert heavy.isdisjoint(ran.stdout.split())


def test_weights_and_initializers() -> None:
    network = netcalc.loads("netcalc: 1\n" + TWO)
    assert (network.compile(init=["zeros", "*.bias=zeros"])()["sum"] == 1).all()
    assert (network.compile(init=["zeros", "*.bias=constant(2)"])()["sum"] == 3).all()
    weights = {name: np.ones(shape, "float32") for name, shape in
               {"a.weight": (6, 6), "a.bias": 6, "wide.weight": (50, 6), "wide.bias": 50}.items()}  # fmt: skip
    assert (network.compile(weights)(x=np.ones((2, 6), "float32"))["sum"] == 8).all()
    with pytest.raises(NetcalcError, match="E601"):
        network.compile({**weights, "a.bias": np.ones(5, "float32")})


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"z": 1}, "E602", "no input 'z'"),
        ({"x": np.ones((2, 5), "float32")}, "E602", "is 2×5, and the spec has 2×6"),
        ({"x": np.ones((2, 6))}, "E602", "holds float64"),
    ],
)
def test_mismatched_inputs_are_errors(given: dict[str, Any], code: str, message: str) -> None:
    session = Compiled(program(TWO))
    for call in (session, session.profile):
        with pytest.raises(NetcalcError, match=message) as caught:
            call(given)
        assert caught.value.diagnostics[0].code == code


def test_networks_that_cannot_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NetcalcError, match=r"E502.*in training mode, which cannot be planned"):
        Compiled(program(TWO, training=True))
    with pytest.raises(NetcalcError, match=r"E502.*at least 1 thread"):
        Compiled(program(TWO), threads=0)
    with pytest.raises(NetcalcError, match=r"E502.*executes 1,000,000 operations, which cannot be planned"):
        Compiled(program("inputs: {x: [1, 1]}\nlayers: [{repeat: 1000000, linear: {out: 1}}]"))
    monkeypatch.setattr(preflight, "free_bytes", lambda: 1000)
    with pytest.raises(NetcalcError, match="E603"):
        Compiled(program(TWO))


def test_weights_of_an_encoder_may_stand_beside_those_of_a_later_step() -> None:
    """A later step of decoding takes the results of the encoder, whose weights a checkpoint has all the same."""
    small = {
        "source": 4,
        "vocab": 20,
        "d_model": 8,
        "head_dim": 4,
        "heads": 2,
        "d_ff": 8,
        "encoder_layers": 1,
        "decoder_layers": 1,
    }
    network = netcalc.load("t5-small", set=small)
    weights = drawn_weights(network.at_step(0, 1).program, seed=1)
    step = network.at_step(2, 1)
    assert "encoder" in {path.split(".")[0] for path in weights}
    np.testing.assert_array_equal(
        step.compile(weights, seed=3)()["logits"], step.run(weights=weights, seed=3).outputs["logits"]
    )


#: Large enough that threads and processes split its steps.
LARGE = "inputs: {x: [1000, 1000]}\nlayers: [relu, {softmax: {}}]"


def test_worker_processes_start_only_on_request() -> None:
    """Neither ``compile`` nor ``run`` starts any by default, although the steps could be split."""
    net = netcalc.loads("netcalc: 1\n" + LARGE)
    before = child_processes()
    session = net.compile(threads=3)
    session()
    assert session.threads == 3
    net.run(threads=3)
    assert child_processes() == before
    shared = net.compile(threads=3, processes=True)
    shared()
    assert len(child_processes() - before) == (2 if sys.platform == "linux" else 0)


def test_threads_replace_processes_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight.sys, "platform", "darwin")
    before, threads = child_processes(), threading.active_count()
    session = Compiled(program(LARGE), threads=3, processes=True)
    session()
    assert child_processes() == before
    assert threading.active_count() == threads + 2
    monkeypatch.undo()


@pytest.mark.parametrize("processes", [False, True])
def test_warning_filters_are_not_changed(processes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay as they are even for a moment, in which another thread could run."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the filters of the whole process")

    before = list(warnings.filters)
    for name in ("catch_warnings", "simplefilter", "filterwarnings", "resetwarnings"):
        monkeypatch.setattr(warnings, name, refuse)
    Compiled(program(LARGE), threads=2, processes=processes)()
    monkeypatch.undo()
    assert warnings.filters == before


def test_all_cores_are_used_by_default() -> None:
    import os

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert Compiled(program(TWO)).threads == cores
    assert Compiled(program(TWO), threads=1).threads == 1


def test_predicted_memory_includes_weights_and_activations() -> None:
    memory = Compiled(program(TWO), threads=1).memory
    weights = 4 * (6 * 6 + 6 + 50 * 6 + 50)
    # the rows of a packed matrix are filled up to a block of at most 64
    assert weights <= memory.weights < weights + 4 * 2 * 64 * 6
    assert memory.activations >= 4 * 2 * (6 + 6 + 50)


# -- profiles ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def profile() -> Profile:
    return Compiled(program(IMAGE), threads=2).profile(passes=3)


def test_profiles_list_layers_in_order_with_fused_operations(profile: Profile) -> None:
    assert [(layer.path, layer.op) for layer in profile.layers] == [
        ("conv", "conv2d"),
        ("more.0", "conv2d"),
        ("more.1", "conv2d"),
        *([("flat", "flatten")] if any(layer.path == "flat" for layer in profile.layers) else []),
        ("fc", "linear"),
    ]
    assert profile.layers[0].fused == (("bn", "batch_norm"), ("act", "relu"))
    assert (profile.threads, profile.passes) == (2, 3)


def test_profiled_flops_include_fused_operations(profile: Profile) -> None:
    """2 · 9·3·32 · 40² FLOPs of multiply-adds, and a bias, a scale, a shift and a comparison per element."""
    analysis = netcalc.loads("netcalc: 1\n" + IMAGE).analysis()
    flops = {layer.path: layer.flops for layer in profile.layers}
    of = {row.path: int(row.cost.flops) for row in analysis.leaves(unroll=True)}
    assert flops["conv"] == of["conv"] + of["bn"] + of["act"]
    assert flops["conv"] > 2 * 9 * 3 * 32 * 40 * 40
    assert profile.flops == analysis.total.flops


def test_times_sum_to_the_total(profile: Profile) -> None:
    assert all(layer.seconds > 0 for layer in profile.layers)
    assert sum(layer.seconds for layer in profile.layers) == pytest.approx(profile.seconds)
    assert sum(operation.seconds for operation in profile.operations) == pytest.approx(profile.seconds)
    assert sum(operation.flops for operation in profile.operations) == profile.flops
    assert [o.seconds for o in profile.operations] == sorted((o.seconds for o in profile.operations), reverse=True)
    assert {o.op: o.layers for o in profile.operations if o.flops} == {"conv2d": 3, "linear": 1}
    assert profile.gemm > profile.flops / profile.seconds / 20


def test_a_profile_needs_at_least_one_pass() -> None:
    with pytest.raises(NetcalcError, match=r"E502.*'passes' should be a whole number of at least 1, not 0"):
        Compiled(program(TWO)).profile(passes=0)


def test_measured_memory_is_close_to_the_prediction() -> None:
    """A fresh process holds the 300 MB of weights and at most 64 MiB more."""
    code = """
import netcalc
wide = netcalc.loads("netcalc: 1\\ninputs: {x: [1, 1000]}\\nlayers: [{repeat: 75, linear: {out: 1000}}]")
found = wide.compile().profile(passes=1)
print(found.predicted.weights, found.measured)
"""
    ran = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True, capture_output=True, text=True)
    predicted, measured = map(int, ran.stdout.split())
    assert predicted == 75 * 4 * 1_001_000
    assert predicted < measured < predicted + (64 << 20)
