"""Checkpoints against programs: names, shapes, element types, ties and fused tensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.analysis.walk import instances, parameters
from netcalc.diagnostics import NetcalcError
from netcalc.ir import Program
from netcalc.numerics.parameters import Parameters, check_weights
from netcalc.weights.writing import write_tensors
from tests.numerics.programs import TIED, program

PLAIN = """
inputs: {x: [2, 6]}
layers:
  - {name: a, linear: {out: 4}}
  - {name: b, linear: {out: 3}}
"""
NORM = """
inputs: {x: [2, 4, 6, 6]}
layers:
  - {name: bn, batch_norm: {}}
"""
FUSED = """
inputs: {x: [2, 6]}
checkpoint:
  k.weight: {name: qkv, chunk: [1, 3]}
  v.weight: {name: qkv, chunk: [2, 3]}
  out.weight: {name: proj.w, transpose: true}
  out.bias: proj.b
layers:
  - {name: k, linear: {out: 6, bias: false}}
  - {name: v, linear: {out: 6, bias: false}}
  - {name: out, linear: {out: 2}}
"""


def loaded(net: Program, weights: Any, *, cast: bool = False) -> dict[str, np.ndarray]:
    """Return all parameters, loaded from these weights."""
    given = Parameters(net, weights, cast=cast)
    return {f"{i.path}.{p.name}": given.fetch(i, p) for i in instances(net) for p in i.node.params}


def state(net: Program) -> dict[str, np.ndarray]:
    """Return arrays that fit the program, each with different numbers."""
    rng = np.random.default_rng(0)
    return {p.path: rng.integers(1, 9, p.param.shape).astype(p.dtype) for p in parameters(net) if p.owner == p.path}


def mismatches(net: Program, weights: Any) -> set[tuple[str, str]]:
    return {(m.kind, m.name) for m in check_weights(net, weights).mismatches}


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_matching_file(tmp_path: Path, suffix: str) -> None:
    net = program(PLAIN)
    write_tensors(tmp_path / f"w{suffix}", state(net))
    report = check_weights(net, tmp_path / f"w{suffix}")
    assert (report.ok, report.tensors, report.parameters) == (True, 4, 4)
    values = loaded(net, tmp_path / f"w{suffix}")
    for name, array in state(net).items():
        np.testing.assert_array_equal(values[name], array)


def test_all_mismatches_are_reported() -> None:
    net = program(PLAIN)
    given = state(net)
    given["a.wieght"] = given.pop("a.weight")
    given["a.bias"] = given["a.bias"].astype(np.float16)
    given["b.weight"] = given["b.weight"].T
    given["b.bias"] = np.ones(7, np.float32)
    assert mismatches(net, given) == {
        ("missing", "a.weight"),
        ("unexpected", "a.wieght"),
        ("dtype", "a.bias"),
        ("shape", "b.weight"),
        ("shape", "b.bias"),
    }
    with pytest.raises(NetcalcError) as caught:
        Parameters(net, given)
    assert {d.code for d in caught.value.diagnostics} == {"E601"}
    text = str(caught.value)
    assert "'a.weight' is missing (the file has 'a.wieght')" in text
    assert "'b.weight' is 4×3 float32, and the spec has 3×4 float32 (it is stored transposed)" in text
    assert "'a.bias' is float16, and the spec has float32" in text


def test_a_common_prefix_is_one_mismatch() -> None:
    net = program(PLAIN)
    report = check_weights(net, {f"module.{name}": array for name, array in state(net).items()})
    assert {m.kind for m in report.mismatches} == {"missing"}
    assert {m.hint for m in report.mismatches} == {"the file's names begin with 'module.'"}


def test_tied_tensors_may_be_stored_under_one_name_or_all() -> None:
    net = program(TIED)
    once = state(net)
    assert "b.weight" not in once
    other = {("b.weight" if n == "a.weight" else n): a for n, a in once.items()}
    both = once | {"b.weight": once["a.weight"]}
    for given in (once, other, both):
        assert check_weights(net, given).ok
        values = loaded(net, given)
        np.testing.assert_array_equal(values["a.weight"], once["a.weight"])
        np.testing.assert_array_equal(values["b.weight"], once["a.weight"])


def test_tied_tensors_that_differ() -> None:
    net = program(TIED)
    given = state(net) | {"b.weight": np.zeros((6, 6), np.float32)}
    assert check_weights(net, given).ok  # headers do not show it
    with pytest.raises(NetcalcError, match=r"'a\.weight' and 'b\.weight' are one tensor.*untie 'a\.weight'"):
        Parameters(net, given)


def test_a_missing_tied_tensor() -> None:
    net = program(TIED)
    given = state(net)
    del given["a.weight"]
    assert mismatches(net, given) == {("missing", "a.weight")}


def test_fused_and_transposed_tensors() -> None:
    net = program(FUSED)
    rng = np.random.default_rng(0)
    given = {
        "qkv": rng.normal(size=(18, 6)).astype(np.float32),
        "proj.w": rng.normal(size=(6, 2)).astype(np.float32),
        "proj.b": np.ones(2, np.float32),
    }
    assert check_weights(net, given).ok
    values = loaded(net, given)
    np.testing.assert_array_equal(values["k.weight"], given["qkv"][6:12])
    np.testing.assert_array_equal(values["v.weight"], given["qkv"][12:])
    np.testing.assert_array_equal(values["out.weight"], given["proj.w"].T)
    np.testing.assert_array_equal(values["out.bias"], given["proj.b"])
    given["qkv"] = given["qkv"][:12]
    report = check_weights(net, given)
    assert report.mismatches[0].message == "'qkv' (for k.weight) is 12×6 float32, and the spec has 18×6 float32"


STACKED = """
inputs: {x: [2, 6]}
vars: {number: 3}
checkpoint:
  experts.up_proj: {name: "expert_{}.wi", stack: "${number}"}
  experts.down_proj: {name: "expert_{}.wo", stack: "${number}", transpose: true}
layers:
  - {name: gate, linear: {out: "${number}", bias: false}}
  - {top_k_router: 1, as: [weights, indices]}
  - {name: experts, from: [x, weights, indices], experts: {experts: "${number}", hidden: 4, gated: false}}
"""


def test_stacked_tensors() -> None:
    rng = np.random.default_rng(0)
    given = {"gate.weight": rng.normal(size=(3, 6)).astype(np.float32)}
    for number in range(3):
        given[f"expert_{number}.wi"] = rng.normal(size=(4, 6)).astype(np.float32)
        given[f"expert_{number}.wo"] = rng.normal(size=(4, 6)).astype(np.float32)
    net = program(STACKED)
    assert check_weights(net, given).ok
    values = loaded(net, given)
    np.testing.assert_array_equal(values["experts.up_proj"][2], given["expert_2.wi"])
    np.testing.assert_array_equal(values["experts.down_proj"][1], given["expert_1.wo"].T)
    assert check_weights(net, state(net)).ok
    assert mismatches(net, {k: v for k, v in given.items() if k != "expert_1.wi"}) == {("missing", "expert_1.wi")}
    given["expert_2.wo"] = given["expert_2.wo"].T
    (wrong,) = check_weights(net, given).mismatches
    assert wrong.message == "'expert_2.wo' (for experts.down_proj) is 6×4 float32, and the spec has 4×6 float32"


def test_a_stack_of_the_wrong_length() -> None:
    net = program(STACKED.replace('stack: "${number}"', "stack: 4", 1))
    given = state(net)
    up = given.pop("experts.up_proj")
    given |= {f"expert_{number}.wi": up[number % 3] for number in range(4)}
    assert mismatches(net, given) == {("shape", "expert_0.wi")}


def test_mapped_tensors_may_keep_their_own_names() -> None:
    net = program(FUSED)
    assert check_weights(net, state(net)).ok
    values = loaded(net, state(net))
    np.testing.assert_array_equal(values["v.weight"], state(net)["v.weight"])


def test_counters_may_be_missing_but_statistics_may_not() -> None:
    net = program(NORM)
    given = state(net)
    assert given["bn.num_batches_tracked"].shape == ()
    del given["bn.num_batches_tracked"]
    assert check_weights(net, given).ok
    assert loaded(net, given)["bn.num_batches_tracked"] == 0
    del given["bn.running_mean"]
    report = check_weights(net, given)
    assert [m.message for m in report.mismatches] == ["the buffer 'bn.running_mean' is missing"]


def test_non_persistent_buffers_are_not_read_from_checkpoints() -> None:
    net = program("inputs: {x: [2, 4, 6, 6]}\nlayers: [{name: blur, blur_pool2d: {}}]")
    assert check_weights(net, {}).ok
    assert check_weights(net, {"blur.filt": np.zeros(3)}).ok  # present, but not used
    assert loaded(net, {"blur.filt": np.zeros(3)})["blur.filt"].sum() == pytest.approx(1)


def test_the_check_reads_no_data(tmp_path: Path) -> None:
    net = program("inputs: {x: [1, 100000]}\nlayers: [{name: a, linear: {out: 100000, bias: false}}]")
    header = b'{"a.weight":{"dtype":"F32","shape":[100000,100000],"data_offsets":[0,40000000000]}}'
    with (tmp_path / "w.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 40_000_000_000)
    assert check_weights(net, tmp_path / "w.safetensors").ok
