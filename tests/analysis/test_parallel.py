"""Splits over devices against published figures, and against each other."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from netcalc.analysis.parallel.report import SplitReport
from netcalc.analysis.parallel.split import Split
from netcalc.analysis.training_memory import Training
from netcalc.analysis.walk import parameters
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.planning.splits import serving_figures, training_figures
from netcalc.split_options import ZeroStage
from tests.analysis.test_training_figures import MEGATRON, TOKENS, megatron

GIB = 2**30
#: Tensor-parallel ranks, pipeline stages and parts of these in Korthikanti et al. 2022, arXiv:2205.05198, Table 3.
WAYS = {"22B": (8, 1, 1), "175B": (8, 8, 3), "530B": (8, 35, 3), "1T": (8, 64, 1)}


def megatron_split(name: str, **options: Any) -> SplitReport:
    tp, pp, parts = WAYS[name]
    passes = {"accumulate": 2 * pp, "micro_batch": MEGATRON[name][3]} if pp > 1 else {}
    report = megatron(name, tp=tp, pp=pp, virtual_stages=parts, **passes, **options)
    assert report.split is not None
    return report.split


@pytest.mark.parametrize(
    ("name", "whole", "by_position"),
    [
        ("22B", 59.25, 9.5625),
        ("175B", 66.84375, 12.3515625),
        ("530B", 114.0234375, 23.076171875),
        ("1T", 131.25, 26.5625),
    ],
)
def test_activations_of_split_megatron(name: str, whole: float, by_position: float) -> None:
    # Figure 1 in GiB, as calculon's llm/validation.py prints it: s·b·h·L·(10 + 24/t + 5·a·s/(h·t)), with
    # 1 + (p − 1)/(p·m) for interleaved stages; with sequence parallelism and selective recomputation 34·s·b·h·L/t.
    # The paper leaves out mean and deviation of the norms, 16 bytes of a token in each layer
    tp, pp, parts = WAYS[name]
    width, _, layers, batch = MEGATRON[name]
    held = layers + (layers * (pp - 1) // (pp * parts) if parts > 1 else 0)
    statistics = 16 * TOKENS * batch * held
    assert megatron_split(name).fullest.ideal == whole * GIB + statistics
    split = megatron_split(name, sp=True, recompute="selective")
    # without a pipeline the whole input of the stack is kept, of which a rank takes its part
    inputs = 2 * TOKENS * batch * width * (tp - 1) // tp if pp == 1 else 0
    assert split.fullest.ideal == by_position * GIB + statistics // tp + inputs


@pytest.mark.parametrize(
    ("options", "percent"),
    [
        ({"sp": True}, 66.84),
        ({"recompute": "selective"}, 49.42),
        ({"sp": True, "recompute": "selective"}, 16.18),
        ({"recompute": "full"}, 7.64),
    ],
)
def test_activations_of_megatron_in_percent(options: dict[str, Any], percent: float) -> None:
    # the same, Figure 7, of the network with 22 B parameters, ± 0.15 points
    base = megatron_split("22B").fullest.ideal
    assert 100 * megatron_split("22B", **options).fullest.ideal / base == pytest.approx(percent, abs=0.2)


@pytest.mark.parametrize(
    ("name", "printed"), [("22B", 45.5625), ("175B", 45.5625), ("530B", 31.640625), ("1T", 32.958984375)]
)
def test_parameters_and_states_of_split_megatron(name: str, printed: float) -> None:
    # the same in GiB: 12·h²·L·18 bytes, divided by t·p.  Biases and norms, which it leaves out, are 7·h numbers that
    # are split and 6·h that are not; PyTorch has a counter of steps, of 4 bytes, for each of 16 tensors
    tp, pp, _ = WAYS[name]
    width, _, layers, _ = MEGATRON[name]
    device = megatron_split(name, training="adam").fullest
    others = (18 * (7 * width // tp + 6 * width) + 16 * 4) * (layers // pp)
    assert device.weights + device.gradients + device.states - others == printed * GIB


def _chain(pairs: int) -> str:
    """Pairs of layers with 5·10⁸ parameters."""
    return f"""
netcalc: 1
name: chain
inputs: {{x: [1, 25000]}}
layers:
  - name: layers
    repeat: {pairs}
    sequence: [{{linear: {{out: 10000, bias: false}}}}, {{linear: {{out: 25000, bias: false}}}}]
"""


@pytest.mark.parametrize(
    ("pairs", "replicas", "zero", "printed"),
    [(15, 64, "0", 120), (15, 64, "1", 31.4), (15, 64, "2", 16.6), (15, 64, "3", 1.9), (2000, 1024, "3", 15.6)],
)
def test_stages_of_zero(pairs: int, replicas: int, zero: ZeroStage, printed: float) -> None:
    # Rajbhandari et al. 2020, arXiv:1910.02054, Figure 1 and Table 1 in GB: 7.5 B parameters on 64 devices
    report = netcalc.loads(_chain(pairs)).memory(
        training="adam", precision="16-mixed", mixed="deepspeed", dp=replicas, zero=zero
    )
    assert report.split is not None
    device = report.split.fullest
    held = device.weights + device.gradients + device.states
    assert round(held / 1e9, 1 if printed % 1 else 0) == printed
    # a layer is gathered as a whole, which the paper does not count
    assert device.gathered == (4 * 500_000_000 if zero == "3" else 0)


def test_estimates_of_deepspeed() -> None:
    # docs/code-docs/source/memory.rst of DeepSpeed, t5-large on 4 devices under stage 3, in MiB: 3,291 in all, of which
    # 477 are 16-bit weights and the largest layer (125: weights and gradients of the embedding in 16 bits).  It counts
    # 18 bytes for a parameter, which are Megatron's.  Its figures for weights and states in the host's memory have no
    # counterpart here
    net = netcalc.load("t5-large", set={"source": 8, "target": 8})
    report = net.memory(training="adam", precision="16-mixed", mixed="megatron", fsdp=True, dp=4)
    assert report.split is not None
    device, largest = report.split.fullest, 4 * 32128 * 1024
    steps = 4 * sum(not one.tied for one in parameters(net.program))
    held = device.weights + device.gradients + device.states - steps // 4
    assert (held + largest) / 2**20 == pytest.approx(3291, abs=1)
    assert (device.weights + largest) / 2**20 == pytest.approx(477, abs=1)
    assert largest / 2**20 == pytest.approx(125, abs=1)
    # gradients in 32 bits, and the position biases of the encoder beside the embedding
    assert device.gathered == pytest.approx(largest * 6 / 4, rel=1e-4)


@pytest.mark.parametrize(("zero", "printed"), [("2", 15.93), ("3", 6.09)])
def test_estimates_of_deepspeed_for_2851_million_parameters(zero: ZeroStage, printed: float) -> None:
    # the same for 2,851 M parameters on 8 devices, in GiB.  Under stage 2 DeepSpeed keeps 16-bit gradients whole beside
    # the divided ones in 32 bits, another 2 bytes for a parameter; under stage 3 the largest layer has 32 M parameters
    numbers = 2_851_000_000
    text = _chain(1).replace("10000", "14255").replace("25000", "100000")  # 2 × 14,255 × 100,000
    report = netcalc.loads(text).memory(training="adam", precision="16-mixed", mixed="megatron", dp=8, zero=zero)
    assert report.split is not None
    device = report.split.fullest
    assert sum(integer(one.param.elements) for one in parameters(netcalc.loads(text).program)) == numbers
    beside = 2 * numbers if zero == "2" else 4 * 32_000_000
    held = device.weights + device.gradients + device.states
    assert (held + beside) / GIB == pytest.approx(printed, abs=0.01)


def test_estimates_of_deepspeed_with_memory_of_the_host() -> None:
    # the same with states, and under stage 3 weights too, in the host's memory, which its figures take half as much
    # again of.  There is no option for it here: what is left on a device, and what is moved, are parts of our figures
    text = _chain(1).replace("10000", "14255").replace("25000", "100000")  # 2,851 M parameters
    options: dict[str, Any] = {"training": "adam", "precision": "16-mixed", "mixed": "megatron"}
    whole = netcalc.loads(text).memory(**options, dp=1, tp=1, pp=1, zero="0").training
    stages = [netcalc.loads(text).memory(**options, dp=8, zero=zero).split for zero in ("2", "3")]
    second, third = (stage.fullest for stage in stages if stage is not None)
    largest, margin = 4 * 32_000_000, 1.5
    assert second.weights / GIB == pytest.approx(5.31, abs=0.01)
    assert (third.weights + largest) / GIB == pytest.approx(0.78, abs=0.01)
    assert largest / GIB == pytest.approx(0.12, abs=0.01)
    assert whole is not None and second.weights == 2 * 2_851_000_000
    held = second.weights + whole.gradients + whole.held
    assert margin * held / GIB == pytest.approx(71.69, abs=0.01)  # stage 3 with weights: 18 bytes
    assert margin * (held - second.weights) / GIB == pytest.approx(63.72, abs=0.01)  # stage 3: 16 bytes
    # stage 2: each of 8 processes is taken to load its own weights in 32 bits
    assert margin * 8 * whole.gradients / GIB == pytest.approx(127.45, abs=0.01)


@pytest.mark.parametrize(
    ("heads", "width", "layers", "tp", "pp", "printed"),
    [
        (24, 2304, 24, 1, 1, 1.7),
        (32, 3072, 30, 2, 1, 3.6),
        (32, 4096, 36, 4, 1, 7.5),
        (48, 6144, 40, 8, 1, 18.4),
        (64, 8192, 48, 8, 2, 39.1),
        (80, 10240, 60, 8, 4, 76.1),
        (96, 12288, 80, 8, 8, 145.6),
        (128, 16384, 96, 8, 16, 310.1),
        (128, 20480, 105, 8, 35, 529.6),
        (160, 25600, 128, 8, 64, 1008.0),
    ],
)
def test_parameters_of_narayanan(heads: int, width: int, layers: int, tp: int, pp: int, printed: float) -> None:
    # Narayanan et al. 2021, arXiv:2104.04473, Table 1 in 10⁹; the fourth computes as 18.45
    sizes = {"heads": heads, "d_model": width, "layers": layers, "vocab": 51200, "length": 2048, "max_length": 2048}
    net = netcalc.load("gpt3-175b", set=sizes)
    total = sum(integer(one.param.elements) for one in parameters(net.program) if not one.tied) / 1e9
    assert total == pytest.approx(printed, abs=0.06)
    figures = serving_figures(net.request, Split(tp=tp))
    stages = figures.stages(Split(tp=tp, pp=pp))
    held = tp * sum(stage.weights for stage in stages) / 4e9
    # each rank has norms, biases and positions, and the last stage the embedding again
    assert total <= held <= total * 1.02 + (51200 * width / 1e9 if pp > 1 else 0)


@pytest.mark.parametrize(
    ("heads", "head_dim", "printed"), [(64, 128, {128: 1320, 512: 330}), (1, 256, {128: 660, 512: 165})]
)
def test_context_of_palm_on_64_chips(heads: int, head_dim: int, printed: dict[int, int]) -> None:
    # Pope et al. 2022, arXiv:2211.05102, Table 1: positions whose caches fit 30 % of 64 chips of 32 GiB, ± 1.1 %: heads
    # of 128, 48 of them padded to 64, or one head of 256 that every chip holds
    for batch, positions in printed.items():
        assert _positions(heads, head_dim, batch, tp=64) == pytest.approx(positions, rel=0.011)


@pytest.mark.parametrize(("batch", "printed"), [(128, 43_000), (512, 10_700)])
def test_context_of_palm_divided_by_sequences(batch: int, printed: int) -> None:
    # the same, where each of the chips has the one head of its share of the sequences
    assert _positions(1, 256, batch // 64, tp=1) == pytest.approx(printed, rel=0.011)


def _positions(kv_heads: int, head_dim: int, batch: int, tp: int) -> int:
    sizes = {"heads": 64, "kv_heads": kv_heads, "head_dim": head_dim, "layers": 118, "d_model": 8192, "d_ff": 8192}
    net = netcalc.load("llama-2-7b", set={**sizes, "batch": batch, "length": 1000}, dtype="bfloat16")
    report = net.memory(phase="decode", tp=tp, dp=2 if tp == 1 else 1)
    assert report.split is not None
    return int(0.3 * 32 * GIB * 1000 / report.split.fullest.caches)


SMALL = {"d_model": 64, "heads": 8, "kv_heads": 4, "d_ff": 128, "vocab": 128, "layers": 8, "length": 32, "batch": 2}
ADAM = Training("adam", "bf16-true")


def test_weights_gradients_and_states_of_stages_add_up() -> None:
    net = netcalc.load("mixtral-8x7b", set={**SMALL, "experts": 8})
    whole = training_figures(net.request, ADAM, Split()).fullest(Split())
    for split in (Split(pp=2), Split(pp=4, dp=4, ep=2), Split(pp=8, virtual_stages=1), Split(dp=4, ep=4)):
        stages = training_figures(net.request, ADAM, split).stages(split)
        experts = 8 * 3 * 64 * 128 * 8
        for kind, size in (("weights", 2), ("gradients", 2)):
            total = sum(getattr(stage, kind) for stage in stages)
            assert total + size * (experts - experts // split.ep) == getattr(whole, kind)


def test_parts_of_stages_divide_the_bubble_and_keep_more() -> None:
    net = netcalc.load("llama-3-8b", set=SMALL)
    figures = training_figures(net.request, ADAM, Split())
    plain, parts = Split(pp=4, micro_batches=8), Split(pp=4, virtual_stages=2, micro_batches=8)
    assert (plain.bubble, parts.bubble) == (3 / 8, 3 / 16)
    # 1F1B holds as many micro-batches as stages follow; interleaving (p − 1)/(p·v) more (Korthikanti et al., 4.2)
    assert [plain.in_flight(stage) for stage in range(4)] == [(4,), (3,), (2,), (1,)]
    assert sum(parts.in_flight(0)) * 1 == 2 * 4 + 3
    assert figures.stages(parts)[0].activations > figures.stages(plain)[0].activations
    sends = {s: [t.calls for t in figures.traffic(s, 0) if t.group == "pipeline"] for s in (plain, parts)}
    assert sends == {plain: [8], parts: [8 * 3]}


def test_traffic_of_replicas() -> None:
    net = netcalc.load("llama-3-8b", set=SMALL)
    figures = training_figures(net.request, ADAM, Split())
    size = figures.fullest(Split()).gradients
    sent = {}
    for zero in range(4):
        sent[zero] = sum(one.sent for one in figures.traffic(Split(dp=4, zero=zero)) if one.group == "data")
    # a sum goes around a ring twice; ZeRO-3 gathers the weights twice (arXiv:1910.02054, section 7: 1.5 × as much)
    assert sent == {0: size * 3 // 2, 1: size * 3 // 2, 2: size * 3 // 2, 3: size * 9 // 4}


def test_traffic_of_experts_and_positions() -> None:
    # 64 tokens of 64 features in 16 bits go to 2 experts and back in each of 8 layers, forward and backward; a replica
    # keeps a quarter
    net = netcalc.load("mixtral-8x7b", set={**SMALL, "experts": 8})
    split = Split(dp=4, ep=4)
    (routed,) = (one for one in training_figures(net.request, ADAM, split).traffic(split) if one.group == "expert")
    assert (routed.collective, routed.calls, routed.sent) == ("all-to-all", 32, 32 * 64 * 64 * 2 * 2 * 3 // 4)
    # keys and values of 4 heads of 8 features at 8 of 32 positions go to the 3 other ranks, three times in training
    net = netcalc.load("llama-3-8b", set=SMALL)
    split = Split(cp=4)
    (passed,) = (one for one in training_figures(net.request, ADAM, split).traffic(split) if one.group == "context")
    assert (passed.collective, passed.sent) == ("point-to-point", 8 * 3 * 3 * (2 * 2 * 8 * 4 * 8 * 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tp": 3}, "--tp 3: model.embed_tokens: 128 rows of the vocabulary cannot be divided by 3"),
        ({"tp": 16}, "8 heads cannot be divided by 16"),
        ({"pp": 3}, "--pp 3: 8 layers of llama-3-8b cannot be divided by 3"),
        ({"ep": 2}, "--ep 2: llama-3-8b has no experts"),
        ({"cp": 5}, "--cp 5: 32 positions cannot be divided by 5"),
        ({"tp": 1, "sp": True}, "--sp divides positions among the ranks of --tp"),
        ({"zero": "3", "dp": 2}, "--zero and --fsdp divide what training holds"),
        ({"fsdp": True, "zero": "1"}, "--fsdp divides what ZeRO stage 3 does"),
        ({"virtual_stages": 2, "training": "sgd", "phase": None}, "--virtual-stages 2 needs pipeline stages"),
        ({"cp": 2, "phase": "decode"}, "a step of decoding has no positions to divide"),
    ],
)
def test_refusals_say_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(NetcalcError) as raised:
        netcalc.load("llama-3-8b", set=SMALL).memory(**{"phase": "prefill", **options})
    error = raised.value.diagnostics[0]
    assert error.code == "E502" and message in error.message


def test_refusals_name_the_divisors_and_the_line() -> None:
    with pytest.raises(NetcalcError) as raised:
        netcalc.load("mixtral-8x7b", set={**SMALL, "experts": 6}).memory(training="sgd", dp=4, ep=4)
    assert raised.value.diagnostics[0].hint == "--ep 2, 3, 6"
    assert raised.value.diagnostics[0].span is not None
    with pytest.raises(NetcalcError) as raised:
        netcalc.load("gpt2").memory(tp=2)
    assert raised.value.diagnostics[0].hint == "--tp 29, 1733, 50257, or --set vocab=50258, which pads it"
