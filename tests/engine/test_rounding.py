"""Runs of rounded and pruned parameters, and their errors against full precision."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import netcalc as api
from netcalc.numerics.rounding import rounded
from netcalc.numerics.rounding.deviation import Deviation

SMALL = {"layers": 3, "d_model": 64, "heads": 4, "vocab": 200, "length": 8}
DECODER = {"layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "d_ff": 96, "vocab": 100, "length": 6}


@pytest.mark.parametrize("scheme", ["int8", "q4_0", "nf4", "float8_e4m3"])
@pytest.mark.parametrize("plan", ["fast", "reference"])
def test_a_run_has_the_rounded_weights(scheme: str, plan: Any) -> None:
    network = api.load("mlp", set={"features": 768})
    drawn = network.train(1, lr=0.0, training="sgd").parameters  # the initial parameters
    weights = dict(drawn)
    quantized = network.quantized(f"hidden.*={scheme}")
    forms = {
        f"{row.path}.{p.name}": p.storage
        for row in _instances(quantized)
        for p in row.node.params
        if p.storage is not None and p.storage.scheme == scheme
    }
    assert sorted(forms) == ["hidden.0.0.weight", "hidden.1.0.weight"]
    for path, storage in forms.items():
        weights[path] = rounded(drawn[path], storage)
        assert not np.array_equal(weights[path], drawn[path])
    expected = network.run(seed=2, weights=weights, plan=plan).outputs["output"]
    found = quantized.run(seed=2, weights=drawn, plan=plan).outputs["output"]
    np.testing.assert_array_equal(found, expected)
    result = quantized.rounding_errors(seed=2, weights=drawn, plan=plan)
    np.testing.assert_array_equal(result.outputs["output"], expected)
    true = network.run(seed=2, weights=drawn, plan=plan).outputs["output"].astype(np.float64)
    (error,) = result.errors
    assert error.deviation.relative == pytest.approx(np.linalg.norm(expected - true) / np.linalg.norm(true), rel=1e-9)
    assert error.deviation.greatest == pytest.approx(np.abs(expected - true).max(), rel=1e-9)
    assert error.deviation.decibels == pytest.approx(-20 * math.log10(error.deviation.relative))


def _instances(network: api.Network) -> Any:
    from netcalc.analysis.walk import instances

    return instances(network.program)


@pytest.mark.parametrize(
    ("name", "settings", "quantize", "prune"),
    [
        ("llama-2-7b", DECODER, "int4-g32", ()),
        ("gpt2", SMALL, ["*.h.1.*=q8_0", "bfloat16"], ()),
        ("gpt2", SMALL, (), "0.3"),
        ("resnet18", {"height": 32, "width": 32}, "*.conv?.weight=int8-tensor", "2:4"),
        ("mixtral-8x7b", DECODER | {"experts": 3, "experts_per_token": 2}, "mxfp4", ()),
    ],
)
def test_both_plans_agree(name: str, settings: dict[str, Any], quantize: Any, prune: Any) -> None:
    network = api.load(name, set=settings)
    if quantize:
        network = network.quantized(quantize)
    if prune:
        network = network.pruned(prune)
    fast, slow = (network.rounding_errors(seed=1, plan=plan) for plan in ("fast", "reference"))
    assert (fast.plan, slow.plan) == ("fast", "reference")
    for one, other in zip(fast.errors, slow.errors, strict=True):
        assert 0 < other.deviation.relative < 1
        assert one.deviation.relative == pytest.approx(other.deviation.relative, rel=0.02)
    own = network.run(seed=1, plan="reference").outputs
    for key, array in slow.outputs.items():
        np.testing.assert_array_equal(array, own[key])
    assert fast.layers() == slow.layers()


def test_equal_layers_are_one_row() -> None:
    result = api.load("gpt2", set=SMALL).quantized("int8").rounding_errors()
    rows = {row.path: row for row in result.layers()}
    singles = {row.path: row for row in result.layers(unroll=True)}
    row = rows["transformer.h.0–2.mlp.c_fc"]
    each = [singles[f"transformer.h.{number}.mlp.c_fc"] for number in range(3)]
    assert (row.instances, row.op, row.schemes) == (3, "linear", ("int8",))
    assert row.elements == 3 * each[0].elements == 3 * (64 * 256 + 256)
    assert row.bytes == sum(one.bytes for one in each) == 3 * (64 * 256 + 4 * 256 + 4 * 256)
    assert (row.least, row.greatest) == (min(one.error for one in each), max(one.error for one in each))
    assert row.output == Deviation.together(one.output for one in each)
    # a step of the greatest of a row, some 2.7 standard deviations, over 127, is wrong by its √12th part
    assert row.weight_error == pytest.approx(2.7 / 127 / math.sqrt(12), rel=0.1)
    assert rows["lm_head"].schemes == ("float32",)
    assert rows["lm_head"].output == next(iter(result.errors)).deviation or result.plan == "fast"


def test_depth_sums_layers_up() -> None:
    result = api.load("gpt2", set=SMALL).quantized("int8").rounding_errors(plan="reference")
    rows = {row.path: row for row in result.layers(depth=3)}
    layer = rows["transformer.h.0–2"]
    last = result.layers(depth=4, unroll=True)
    outputs = [row for row in last if row.path.endswith("transformed")]
    assert layer.instances == 3
    assert layer.elements == 3 * (12 * 64 * 64 + 13 * 64)
    assert layer.output == Deviation.together(row.output for row in outputs)
    top = {row.path: row for row in result.layers(depth=1)}
    assert top["transformer"].elements == sum(row.elements for row in rows.values() if row.path != "lm_head")
    assert top["lm_head"].output == result.errors[0].deviation


def test_what_stays_in_full_precision_has_a_reason() -> None:
    result = api.load("gpt2", set=SMALL).quantized("int8").rounding_errors()
    reasons = {group.reason: (group.tensors, group.elements) for group in result.kept}
    assert reasons["one axis (layer_norm)"] == (7, 7 * 64)
    assert reasons["an embedding"][0] == 3  # the table of positions, and that of tokens, which the head uses too
    assert sum(tensors for tensors, _ in reasons.values()) == 7 + 3 + 7 + 12


def test_the_error_grows_as_bits_are_left_out() -> None:
    network = api.load("llama-2-7b", set=DECODER)
    errors = [
        network.quantized(scheme).rounding_errors().errors[0].deviation.relative
        for scheme in ("q8_0", "q5_0", "q4_0", "int2-g32")
    ]
    assert errors == sorted(errors)
    assert errors[0] < 0.02 < 0.3 < errors[-1]


def test_only_what_follows_a_rounded_parameter_differs() -> None:
    result = api.load("mlp").quantized("output.*=int8").rounding_errors()
    rows = {row.path: row for row in result.layers()}
    assert rows["hidden.1.0"].error == 0
    assert rows["hidden.1.0"].decibels == math.inf
    assert rows["output"].error > 0


def test_adapters_stay_in_full_precision() -> None:
    """QLoRA, Dettmers et al. 2023, arXiv:2305.14314: nf4 below, trained adapters beside it."""
    network = api.load("llama-2-7b", set=DECODER, lora=4).quantized("nf4-dq")
    result = network.rounding_errors()
    adapters = [row for row in result.layers() if ".lora_" in row.path]
    assert adapters
    assert all(row.schemes == ("float32",) and row.weight_error == 0 for row in adapters)
    assert any(row.schemes == ("nf4-dq",) for row in result.layers())
    trained = network.train(3, lr=0.05)
    assert trained.losses[-1] < trained.losses[0]
    base = api.load("llama-2-7b", set=DECODER).quantized("nf4-dq")
    expected = base.run().outputs["logits"]
    np.testing.assert_allclose(network.run().outputs["logits"], expected, rtol=1e-5, atol=1e-6)


def test_memory_is_predicted() -> None:
    network = api.load("mlp", set={"features": 2000, "hidden": [3000, 1000]}).quantized("int4-g8")
    predicted = network.rounding_errors(plan="reference").memory.peak
    tracemalloc.start()
    network.rounding_errors(plan="reference")
    _, measured = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.3 * predicted < measured < predicted


def test_what_cannot_be_compared() -> None:
    network = api.load("mlp")
    for of, part in (
        (network, "no parameter is rounded or pruned"),
        (network.quantized("float32"), "no parameter is rounded or pruned"),
        (api.load("mlp", set={"features": 256}).quantized("hidden.0.*=iq2_xxs"), "netcalc does not round to iq2_xxs"),
        (api.load("mlp", mode="train").quantized("int8"), "compared in inference"),
    ):
        with pytest.raises(api.NetcalcError, match=part):
            of.rounding_errors()


def test_deviation_of_numbers_that_are_not_finite() -> None:
    x = np.array([1.0, -np.inf, np.nan, 2.0])
    same = Deviation.of(x, x.copy())
    assert (same.relative, same.decibels, same.elements) == (0.0, math.inf, 4)
    assert same.cosine == pytest.approx(1)
    other = Deviation.of(x, np.array([1.0, -np.inf, 3.0, 2.0]))
    assert (other.relative, other.greatest) == (math.inf, math.inf)
    assert Deviation.of(np.zeros(3), np.ones(3)).relative == math.inf
    many = np.random.default_rng(0).standard_normal(2_500_000).astype(np.float32)
    assert Deviation.of(many, many * np.float32(1.25)).relative == pytest.approx(0.25)
    assert Deviation.of(many, -many).cosine == pytest.approx(-1)
