"""Bounds of time: published figures, traffic counted by hand and without folding, and properties of roofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.analysis.devices import Device, Devices, device_named
from netcalc.analysis.roofline import Roofs, layer_bounds
from netcalc.analysis.time_report import TimeReport
from netcalc.analysis.traffic import Traffic
from netcalc.diagnostics import NetcalcError

PALM = {
    "d_model": 18432,
    "layers": 118,
    "heads": 48,
    "kv_heads": 1,
    "head_dim": 256,
    "d_ff": 73728,
    "vocab": 256000,
    "tied": True,
    "whole_heads": False,
}
SMALL = {"layers": 2, "d_model": 32, "heads": 2, "vocab": 50, "max_length": 64, "length": 8}


def bound(model: str, device: str, load: dict[str, Any] | None = None, **options: Any) -> TimeReport:
    return netcalc.load(model, **(load or {})).time(device=device, **options)


# -- published figures ---------------------------------------------------------------------------------


def test_palm_reaches_the_published_share_of_the_peak() -> None:
    # 238.3 K tokens/s on 6,144 TPU v4 (arXiv:2204.02311, appendix B): 45.7 % by 6N FLOPs for a token, 46.2 % with
    # attention, 12·L·H·Q·T more.  The kernel of the bound skips the pairs that the causal mask hides, half of them.
    report = bound("llama-2-7b", "tpu-v4:6144", {"set": PALM, "dtype": "bfloat16"}, phase="training")
    network = netcalc.load("llama-2-7b", set=PALM)
    assert report.peak.flops == 6144 * 275 * 10**12
    by_parameters, by_attention = 6 * network.params, 12 * 118 * 48 * 256 * 2048

    def share(flops: float) -> float:
        return 100 * 238_300 * flops / report.peak.flops

    assert round(share(by_parameters), 1) == 45.7
    assert round(share(by_parameters + by_attention), 1) == 46.2
    counted = report.flops / report.tokens
    assert counted == pytest.approx(by_parameters + by_attention / 2, rel=1e-4)
    assert 45.7 < share(counted) < 46.2


def test_gpt3_has_the_published_work_and_that_of_attention() -> None:
    # Table D.1 of arXiv:2005.14165: 6 FLOPs for each of 174,600 M parameters and 300 B tokens, without attention
    run = bound("gpt3-175b", "v100:1024", phase="training", tokens="300B").run
    assert run is not None
    assert pytest.approx(3.14e23, rel=2e-3) == 6 * 174_600_000_000 * 300 * 10**9
    assert run.flops / 3.14e23 == pytest.approx(1.0145, abs=5e-4)
    assert run.pf_days / 3.64e3 == pytest.approx(1.013, abs=1e-3)
    # causal attention of 96 layers is 6·L·d FLOPs for each of (s + 1)/2 pairs and two products; positions, biases and
    # norms are parameters without multiply-adds
    attention = 6 * 96 * 12288 * 2049
    matrices = 96 * 12 * 12288**2 + 50257 * 12288
    assert run.flops == 300 * 10**9 * (6 * matrices + attention)


@pytest.mark.parametrize(
    ("shape", "tokens", "devices", "speed", "days"),
    [
        ({}, "300B", 1024, 140, 33.83),
        ({"d_model": 25600, "heads": 160, "layers": 128, "vocab": 51200}, "450B", 3072, 163, 83.88),
    ],
    ids=["175B", "1T"],
)
def test_megatron_takes_the_published_days(
    shape: dict[str, int], tokens: str, devices: int, speed: int, days: float
) -> None:
    # arXiv:2104.04473, section 5.2: 8·T·P/(n·X), with the activations computed again: 8 FLOPs in place of 6
    network = netcalc.load("gpt3-175b", set=shape)
    options = {"tokens": tokens, "efficiency": speed / 312, "arithmetic": "bfloat16", "recompute": "full"}
    run = network.time(device=f"a100:{devices}", **options).run
    assert run is not None
    assert 8 * run.tokens * network.params / (devices * speed * 1e12) / 86400 == pytest.approx(days, rel=2e-3)
    assert round(run.days) == round(days)
    # causal attention is the rest: s/12d of the work of the matrices of a layer, 12·d² parameters; the logits are not
    # computed again
    width = shape.get("d_model", 12288)
    assert run.days / days == pytest.approx(1 + 2048 / (12 * width), abs=2e-3)


def test_what_is_computed_again_is_a_second_forward_pass() -> None:
    # the layers of gpt2 again, or the scores and values of its attention
    load = {"set": {"layers": 3, "length": 64}}
    layers = {layer.path: layer for layer in bound("gpt2", "l4", load).layers}
    plain, full, core = (
        bound("gpt2", "l4", load, phase="training", recompute=kind) for kind in ("none", "full", "selective")
    )
    inner = [layer for path, layer in layers.items() if path.startswith("transformer.h.")]
    assert full.flops - plain.flops == sum(layer.flops for layer in inner)
    assert full.read - plain.read == sum(layer.read for layer in inner)
    attention = [layer for layer in inner if layer.op == "scaled_dot_product_attention"]
    assert core.flops - plain.flops == sum(layer.flops for layer in attention) > 0
    assert bound("gpt2", "l4", load, phase="training", recompute="every:2").flops == full.flops


def test_llama_405b_reaches_the_published_share_of_the_peak() -> None:
    # arXiv:2407.21783, table 4: 430, 400 and 380 TFLOP/s of a GPU are 43, 41 and 38 %; 400 of 989.4 is 40.4 %
    peak = device_named("h100").peaks["bfloat16"]
    assert [round(100 * speed * 1e12 / peak, 1) for speed in (430, 400, 380)] == [43.5, 40.4, 38.4]
    report = bound("llama-3.1-405b", "h100:16384", {"set": {"length": 8192}}, tokens="15.6T", efficiency=0.4)
    assert report.run is not None
    # 3.8e25 FLOPs are 6·N·T; causal attention is 3.7 % more
    assert 6 * netcalc.load("llama-3.1-405b").params * report.run.tokens == pytest.approx(3.8e25, rel=5e-3)
    assert report.run.flops / 3.8e25 == pytest.approx(1.036, abs=2e-3)


# -- traffic -------------------------------------------------------------------------------------------

TWO = """
netcalc: 1
name: two
dims: {batch: 4}
inputs: {x: [batch, 10]}
layers:
  - {name: first, linear: {out: 20, bias: false}}
  - {name: curve, relu: {}}
  - {name: second, linear: {out: 20, bias: false}}
  - {name: sum, from: [curve, second], add: {}}
  - {name: mean, mean: {axis: 1}}
outputs: {y: mean}
"""


def layers_of(report: TimeReport) -> dict[str, tuple[int, int, int]]:
    return {layer.path: (layer.flops, layer.read, layer.written) for layer in report.layers}


def test_bytes_are_those_of_arithmetic_by_hand() -> None:
    network = netcalc.loads(TWO)
    assert layers_of(network.time(device="l4")) == {
        "first": (2 * 4 * 10 * 20, 4 * (10 * 20 + 4 * 10), 4 * 4 * 20),
        "second": (2 * 4 * 20 * 20, 4 * (20 * 20 + 4 * 20), 4 * 4 * 20),
        "sum": (0, 4 * 4 * 20, 0),  # one of its operands is at hand
    }
    apart = layers_of(network.time(device="l4", unfused=True))
    assert apart["curve"] == (0, 4 * 80, 4 * 80)
    assert apart["sum"] == (0, 2 * 4 * 80, 4 * 80)
    assert apart["mean"] == (0, 4 * 80, 4 * 4)


def test_training_adds_gradients_and_states() -> None:
    report = netcalc.loads(TWO).time(device="l4", training="adam")
    first, second = (layers_of(report)[name] for name in ("first", "second"))
    # forward; then weight, input and gradient of the output are read, and gradients of weight and input written; then
    # weight, gradient and two moments are read, and all but the gradient written; adam counts steps in a number
    weight, data, out = 4 * 400, 4 * 80, 4 * 80
    assert second == (
        3 * 2 * 4 * 20 * 20,
        (weight + data) + (weight + data + out) + (4 * weight + 4),
        out + (weight + data) + (3 * weight + 4),
    )
    # the first layer has no gradient of its input, and so does not read its weight again
    weight, data = 4 * 200, 4 * 40
    assert first == (
        2 * 2 * 4 * 10 * 20,
        (weight + data) + (data + out) + (4 * weight + 4),
        out + weight + (3 * weight + 4),
    )


def test_attention_moves_its_scores_only_if_its_kernel_stores_them() -> None:
    spec = """
netcalc: 1
name: attention
inputs: {query: [1, 4, 64, 16], memory: [1, 4, 32, 16]}
layers:
  - {name: a, from: [query, memory], scaled_dot_product_attention: {}}
"""
    network = netcalc.loads(spec)
    query, keys, scores = 4 * 4 * 64 * 16, 4 * 4 * 32 * 16, 4 * 4 * 64 * 32
    assert layers_of(network.time(device="l4", attention="flash"))["a"][1:] == (query + keys, query)
    assert layers_of(network.time(device="l4", attention="eager"))["a"][1:] == (
        query + keys + 2 * scores,
        query + 2 * scores,
    )


def test_tables_and_experts_are_read_where_tokens_need_them() -> None:
    step = bound("mixtral-8x7b", "h100", {"set": {"length": 64}}, phase="decode")
    (experts,) = (layer for layer in step.layers if layer.op == "experts")
    # a token has 2 of 8 experts: 2·3·4096·14336 numbers of 2 bytes in each of 32 layers, and the tensors of the token
    assert experts.read == pytest.approx(32 * 2 * 3 * 4096 * 14336 * 2, rel=1e-4)
    table = next(layer for layer in step.layers if layer.op == "embedding")
    assert (table.read, table.written) == (4096 * 2, 0)
    many = bound("mixtral-8x7b", "h100", {"set": {"length": 64}}, phase="prefill")
    (experts,) = (layer for layer in many.layers if layer.op == "experts")
    assert experts.read == pytest.approx(32 * 8 * 3 * 4096 * 14336 * 2, rel=1e-3)


def test_a_window_bounds_the_keys_that_a_step_reads() -> None:
    load = {"set": {"past": 1023, "length": 1}}
    local, full = (
        [layer.read for layer in bound("gpt-neo-125m", "l4", load, unroll=True).layers if "attention" in layer.op][
            index
        ]
        for index in (1, 0)
    )
    assert full / local == pytest.approx(1024 / 256, rel=0.01)


def test_quantized_weights_are_read_in_their_bytes() -> None:
    load: dict[str, Any] = {"set": {"length": 2048}, "dtype": "bfloat16"}
    plain = bound("llama-3-8b", "rtx-4090", load, phase="decode")
    packed = bound("llama-3-8b", "rtx-4090", {**load, "quantize": "q4_k_m"}, phase="decode")
    weights = [
        netcalc.load("llama-3-8b", **{**load, **more}).cost().weight_bytes for more in ({}, {"quantize": "q4_k_m"})
    ]
    table = 128256 * 4096  # only a row of the table is read, which is 4.5 bits a number with q4_k
    assert plain.read - packed.read == pytest.approx(weights[0] - weights[1] - table * (2 - 4.5 / 8), rel=1e-3)
    assert plain.flops == packed.flops and packed.seconds < 0.4 * plain.seconds


# -- roofs ---------------------------------------------------------------------------------------------

MODELS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("resnet18", {"set": {"height": 64, "width": 64}}, {}),
    ("gpt2", {"set": SMALL}, {"phase": "decode"}),
    ("gpt2", {"set": SMALL}, {"training": "adamw", "attention": "eager"}),
    ("gpt-neo-125m", {"set": {"layers": 4, "d_model": 64, "heads": 2, "length": 16}}, {"unfused": True}),
]


@pytest.mark.parametrize(("model", "load", "options"), MODELS, ids=["conv", "decode", "training", "unfused"])
def test_folded_rows_are_the_sum_of_all_instances(model: str, load: dict[str, Any], options: dict[str, Any]) -> None:
    folded = bound(model, "l4", load, **options)
    for other in (bound(model, "l4", load, unroll=True, **options), bound(model, "l4", load, depth=1, **options)):
        for figure in ("flops", "read", "written"):
            assert sum(getattr(layer, figure) for layer in other.layers) == getattr(folded, figure)
        assert sum(layer.seconds for layer in other.layers) == pytest.approx(folded.seconds, rel=1e-12)


@pytest.mark.parametrize(("model", "load", "options"), MODELS, ids=["conv", "decode", "training", "unfused"])
def test_the_bound_is_above_every_roof(model: str, load: dict[str, Any], options: dict[str, Any]) -> None:
    report = bound(model, "mi300x", load, **options)
    for layer in report.layers:
        assert layer.seconds == max(layer.roofs.values())
    assert all(report.seconds >= seconds for seconds in report.roofs.values())
    assert report.roofs["compute"] >= 2 * sum(layer.flops for layer in report.layers) / 2 / 163.4e12 * (1 - 1e-9)
    several = bound(model, "mi300x:4", load, **options)
    assert several.seconds == pytest.approx(report.seconds / 4) and several.flops == report.flops


def test_multiply_adds_of_a_forward_pass_are_those_that_are_counted() -> None:
    for model in ("resnet18", "lstm-classifier", "mobilenet-v2"):
        if model in {spec.name for spec in netcalc.list_specs().specs}:
            network = netcalc.load(model)
            assert network.time(device="l4").flops == 2 * network.macs


def test_what_a_cache_holds_is_not_read_from_memory() -> None:
    program = netcalc.loads(TWO).program
    from netcalc.analysis.cost import analyze

    def seconds(**figures: Any) -> dict[str, float]:
        device = Device("d", "a device", None, bandwidth=1, peaks={"float32": 10**30}, **figures)
        traffic = Traffic(analyze(program))
        total: dict[str, float] = {}
        for layer in layer_bounds(program, traffic, Roofs(Devices(device), 4 * (600 + 40), "float32")):
            for roof, value in layer.roofs.items():
                total[roof] = total.get(roof, 0) + value
        return total

    weights, data, out = 4 * 600, 4 * 40, 4 * 80
    assert seconds()["memory"] == weights + data + 4 * out
    assert seconds(cache=400)["memory"] == weights + data  # tensors may stay, parameters and inputs come from memory
    both = seconds(cache=4000, cache_bandwidth=2)
    assert (both["memory"], both["cache"]) == (0, (weights + data + 4 * out) / 2)


def test_winograd_needs_a_quarter_of_the_products_of_3_by_3_convolutions() -> None:
    device = {"device": "rtx-3090"}
    network = netcalc.load("vgg16")
    direct, fast = network.time(**device), network.time(**device, convolution="winograd")
    assert fast.flops == direct.flops
    by_path = {layer.path: layer for layer in direct.layers}
    for layer in fast.layers:
        if layer.op == "conv2d":
            assert layer.roofs["compute"] == pytest.approx(by_path[layer.path].roofs["compute"] / 4)


# -- what is not known, and what does not go together ---------------------------------------------------


def test_a_roof_that_is_not_published_is_named_and_left_out() -> None:
    report = bound("resnet18", "m4-max")
    assert (report.peak.flops, report.mfu, report.limit) == (None, None, "memory")
    assert "no roof of arithmetic: the peak of float32 is not published" in report.assumptions
    assert "compute" not in report.roofs


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({}, "a time is one on a device"),
        ({"device": "80GiB"}, "neither bandwidth nor peaks"),
        ({"device": "cortex-m7"}, "neither bandwidth nor peaks"),
        ({"device": "h10"}, "near are h100"),
        ({"device": "m4-max", "efficiency": 0.4}, "the peak of float32 on Apple M4 Max is not published"),
        ({"device": "h100", "efficiency": 40}, "a share of the peak"),
        ({"device": "t4", "arithmetic": "fp8"}, "NVIDIA T4 has no such peak"),
        ({"device": "h100", "tokens": "many"}, "such as 15T"),
        ({"device": "h100", "tokens": "1T", "phase": "decode"}, "--tokens goes with --phase training"),
        ({"device": "h100", "tokens": "1T"}, "has no input of tokens"),
        ({"device": "h100", "phase": "decode"}, "does not decode"),
        ({"device": "h100", "recompute": "full"}, "--recompute says how to train"),
        ({"device": "h100", "training": "adamw", "phase": "prefill"}, "--training goes with --phase training"),
    ],
)
def test_contradictions_are_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(NetcalcError, match=part) as error:
        netcalc.load("resnet18").time(**options)
    assert len(error.value.diagnostics) == 1


def test_symbolic_sizes_are_refused() -> None:
    with pytest.raises(NetcalcError, match=r"E404.*batch is a symbol"):
        netcalc.load("resnet18", symbolic=["batch"]).time(device="l4")


def test_a_device_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "board.yaml"
    path.write_text("devices: {board: {memory: 1GiB, bandwidth: 1GB, peaks: {float32: 1.0e9}}}\n")
    report = netcalc.load("mlp").time(device=str(path))
    # 784·512 + 512·256 + 256·10 products at 10⁹ FLOP/s take 1.07 ms, the same weights at 10⁹ B/s 2.15 ms
    assert report.roofs["compute"] == pytest.approx(1.07008e-3)
    assert report.seconds == pytest.approx(2.15e-3, rel=0.01)


# -- size ----------------------------------------------------------------------------------------------


def test_repeats_are_not_gone_through_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    original = Traffic._operation

    def operation(self: Traffic, node: Any, *rest: Any) -> Any:
        counted.append(node.op.name)
        return original(self, node, *rest)

    monkeypatch.setattr(Traffic, "_operation", operation)
    few, many = ({"set": {"layers": layers, "length": 512}} for layers in (2, 126))
    reports, numbers = [], []
    for load in (few, many):
        counted.clear()
        reports.append(bound("llama-3.1-405b", "h100:1024", load, training="adamw"))
        numbers.append(len(counted))
    assert numbers[0] == numbers[1] < 60
    assert len(reports[0].layers) == len(reports[1].layers)
    inner = [[layer for layer in report.layers if layer.repeat > 1] for report in reports]
    assert sum(layer.flops for layer in inner[1]) == 63 * sum(layer.flops for layer in inner[0])
