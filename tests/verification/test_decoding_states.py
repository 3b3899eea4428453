"""States of recurrent decoders: their element types, and steps that depend on them."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.dtypes import ITEMSIZE
from netcalc.engine.run import forward
from tests.zoo.harness import SMALL

#: Networks whose first layer has a state, and its name.
SCANS = {
    "mamba-130m": "ssm",
    "mamba2-130m": "ssm",
    "jamba-v0.1": "ssm",
    "bamba-9b": "ssm",
    "nemotron-h-8b": "ssm",
    "granite-4.0-h-small": "ssm",
    "qwen3.5-35b-a3b": "rule",
    "qwen3.5-9b": "rule",
    "qwen3-next-80b-a3b": "rule",
}


def state_types(name: str, dtype: Any) -> dict[str, str]:
    """Return the element types of the caches of layer 0, before a step and after it."""
    program = netcalc.load(name, set={**SMALL[name], "past": 3, "use_cache": True}, dtype=dtype).program
    before = {spec.name: spec.type.dtype for spec in program.inputs}
    after = dict(zip(program.output_names, (value.known_type.dtype for value in program.main.outputs), strict=True))
    pairs = {cache.input: (before[cache.input], after[cache.output]) for cache in program.caches.entries}
    assert all(one == other for one, other in pairs.values())
    return {cache: one for cache, (one, _) in pairs.items() if ".0." in cache}


@pytest.mark.parametrize(("dtype", "wide"), [("float16", "float32"), ("bfloat16", "float32"), ("float64", "float64")])
def test_the_state_of_a_scan_is_at_least_float32(dtype: str, wide: str) -> None:
    rwkv = state_types("rwkv-4-169m", dtype)
    assert rwkv.pop("past_states.0.attention") == rwkv.pop("past_states.0.feed_forward") == dtype
    assert [*rwkv.values()] == [wide] * 3
    for name, state in SCANS.items():
        assert state_types(name, dtype) == {"past_states.0.conv": dtype, f"past_states.0.{state}": wide}


@pytest.mark.parametrize("name", [*SCANS, "rwkv-4-169m", "lstm-lm-ptb-small", "lfm2-1.2b"])
def test_a_step_depends_on_every_state(name: str) -> None:
    program = netcalc.load(name, set=SMALL[name], dtype="float32").at_step(5, 1).program
    drawn = {spec.name: np.full(spec.type.shape, 0.5, np.float32) for spec in program.inputs if "past" in spec.name}
    before = forward(program, drawn).outputs["logits"]
    for state, array in drawn.items():
        assert np.abs(forward(program, {**drawn, state: 1 + array}).outputs["logits"] - before).max() > 1e-6, state


@pytest.mark.parametrize("name", [*SCANS, "rwkv-4-169m", "lstm-lm-ptb-small", "lfm2-1.2b"])
def test_returning_states_changes_no_logits(name: str) -> None:
    loaded = partial(netcalc.load, name, dtype="float32")
    plain, cached = (loaded(set={**SMALL[name], "use_cache": use}).program for use in (False, True))
    outputs = forward(plain).outputs["logits"], forward(cached).outputs["logits"]
    np.testing.assert_allclose(*outputs, rtol=0, atol=1e-6 * np.abs(outputs[0]).max())


def test_layers_of_a_hybrid_have_the_caches_of_their_kind_and_their_number() -> None:
    program = netcalc.load("jamba-v0.1").at_step(4096, 1).program
    names = [spec.name for spec in program.inputs]
    keys = [int(name.split(".")[1]) for name in names if name.endswith(".key")]
    states = [int(name.split(".")[1]) for name in names if name.endswith(".ssm")]
    assert keys == [4, 12, 20, 28]  # attn_layer_offset 4, attn_layer_period 8 in ai21labs/Jamba-v0.1
    assert sorted(keys + states) == list(range(32))


@pytest.mark.parametrize("name", ["mamba2-130m", "bamba-9b", "nemotron-h-8b"])
def test_the_step_of_a_scan_in_half_precision_is_near_that_in_float32(name: str) -> None:
    found = []
    for dtype in ("float32", "float16"):
        program = netcalc.load(name, set=SMALL[name], dtype=dtype).at_step(3, 1).program
        halves = {s.name: np.full(s.type.shape, 0.5, s.type.dtype) for s in program.inputs if "past" in s.name}
        found.append(forward(program, halves).outputs)
    assert found[1]["present_states.0.ssm"].dtype == np.float32
    assert found[1]["logits"].dtype == np.float16
    np.testing.assert_allclose(found[1]["logits"], found[0]["logits"], atol=2e-2 * np.abs(found[0]["logits"]).max())


def test_a_token_of_mamba_2_costs_its_products() -> None:
    """Each weight of a projection once, the convolution, and one product with the state of each channel."""
    step = netcalc.load("mamba2-130m").at_step(4096, 1)
    inner, state, heads, width, vocab = 24 * 64, 128, 24, 768, 50288
    layer = width * (2 * inner + 2 * state + heads) + 4 * (inner + 2 * state) + inner * state + inner * width
    assert step.macs == 24 * layer + width * vocab


def test_states_of_qwen3_6_27b_have_the_published_size() -> None:
    """lmstudio-ai/lmstudio-bug-tracker#1862: with 4 sequences, llama.cpp allocates 598.50 MiB for recurrent states.

    Of 64 layers each fourth has attention, with 4 heads of 256 features for keys and values; at 262,144 positions they
    take 16,384 MiB in float16.
    """
    sizes = {"layers": 64, "d_model": 5120, "heads": 24, "kv_heads": 4, "head_dim": 256, "experts": 0, "d_ff": 17408}
    sizes |= {"delta_heads": 48, "delta_key_heads": 16, "delta_key_dim": 128, "delta_value_dim": 128}

    def mebibytes(prefix: str, dtype: Any, **more: int) -> float:
        program = netcalc.load("qwen3-next-80b-a3b", set={**sizes, **more, "length": 1}, dtype=dtype).program
        return (
            sum(
                spec.type.elements * ITEMSIZE[spec.type.dtype]
                for spec in program.inputs
                if spec.name.startswith(prefix)
            )
            / 2**20
        )

    assert mebibytes("past_states.", "float32", batch=4, past=1) == 598.5
    assert mebibytes("past_key_values.", "float16", past=262144) == 16384
