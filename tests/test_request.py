"""Requests: everything that was asked of a source also holds of the programs that are derived from it."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly

#: Sizes that make gpt2 small.
SMALL = {"layers": 2, "d_model": 32, "heads": 2, "vocab": 50, "max_length": 64, "length": 8}


def network(**options: Any) -> netcalc.Network:
    return netcalc.load("gpt2", **{"set": SMALL, **options})


@pytest.mark.parametrize(
    ("change", "weight_bytes"),
    # llama.cpp's q4_k_m of the 1,235,814,400 parameters (tests/analysis/precision); half of the elements in float32
    [(lambda net: net.quantized("q4_k_m"), 799_862_784), (lambda net: net.pruned("*=0.5"), None)],
)
def test_a_step_of_decoding_has_the_storage_of_the_network(change: Any, weight_bytes: int | None) -> None:
    net = change(netcalc.load("llama-3.2-1b"))
    stored = net.cost().weight_bytes
    assert stored < netcalc.load("llama-3.2-1b").cost().weight_bytes
    assert weight_bytes in (None, stored)
    assert net.at_step(past=10, new=1).cost().weight_bytes == stored


def test_a_step_of_decoding_has_the_type_the_mode_and_the_adapters_of_the_network() -> None:
    step = network(dtype="float16", mode="train", lora="*.c_attn=4").at_step(past=3, new=1)
    assert {spec.type.dtype for spec in step.program.inputs} == {"int64", "float16"}
    assert step.program.training
    assert step.params == network(lora="*.c_attn=4").params > network().params
    half, single = (network(dtype=dtype).at_step(past=3, new=1).cost().weight_bytes for dtype in ("float16", None))
    assert 2 * half == single


def test_a_step_of_decoding_keeps_the_settings_of_the_user() -> None:
    step = network(set={**SMALL, "batch": 3}).at_step(past=3, new=1)
    assert step.program.inputs[0].type.shape == (3, 1)
    assert step.at_step(past=7, new=2).program.inputs[0].type.shape == (3, 2)


def test_symbolic_sizes_stay_symbolic_in_a_step_and_in_memory() -> None:
    net = netcalc.load("llama-3-8b", symbolic=["batch"])
    (batch, new) = net.at_step(past=3, new=1).program.inputs[0].type.shape
    assert isinstance(batch, Poly) and new == 1
    report = net.memory()
    one = netcalc.load("llama-3-8b").memory()
    for size in (1, 2, 7):
        assert report.caches().at({"batch": size}) == size * one.caches()
    assert report.ideal is None and report.symbolic == ("batch",)


@pytest.mark.parametrize("name", ["past", "length"])
def test_a_symbolic_past_or_length_has_caches(name: str) -> None:
    # 32 layers × 2 × 8 heads × 128 elements × 2 bytes
    assert netcalc.load("llama-3-8b", symbolic=[name]).memory().token_bytes == 131_072


def test_sizes_of_a_symbolic_network_stay_in_a_step() -> None:
    net = netcalc.load("gpt2", symbolic=["batch"]).specialize(batch=5)
    assert net.at_step(past=3, new=1).program.inputs[0].type.shape == (5, 1)
    assert net.memory().caches() == 5 * netcalc.load("gpt2").memory().caches()
    assert netcalc.loads(net.to_yaml()).program.inputs[0].type.shape[0] == 5


def test_use_cache_is_what_the_user_sets() -> None:
    peaks = {use: netcalc.load("gpt2", set={"use_cache": use}).memory().eager for use in (True, False)}
    assert peaks[True] is not None and peaks[False] is not None
    # figures of the command line: the caches of 12 layers × 2 × 12 heads × 1,024 × 64 float32 are alive too
    assert (peaks[True].peak, peaks[False].peak) == (284_504_064, 209_006_592)


def test_a_network_without_caches_has_no_steps() -> None:
    with pytest.raises(NetcalcError, match="does not decode step by step"):
        netcalc.load("mlp").at_step(past=1, new=1)


def test_storage_is_assigned_at_once_or_later() -> None:
    at_once = netcalc.load("mlp", quantize="int8", prune="hidden.*=0.5").cost().weight_bytes
    assert netcalc.load("mlp").quantized("int8").pruned("hidden.*=0.5").cost().weight_bytes == at_once


def test_a_step_of_training_is_in_training_mode_unless_another_is_chosen() -> None:
    text = "netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{linear: 4}, {dropout: 0.5}]\n"
    plain, chosen = netcalc.loads(text), netcalc.loads(text, mode="eval")
    assert plain.summary(training="sgd").totals.flops > chosen.summary(training="sgd").totals.flops
    assert plain.summary().totals.flops == chosen.summary().totals.flops
